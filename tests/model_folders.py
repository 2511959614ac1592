"""Folders of models as hubs have them, made by hand: no weights behind their headers."""

import json

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 64,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 1024,
    "rope_theta": 10000.0,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
    "eos_token_id": 1,
}
KIMI = LLAMA | {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "kimi_k2",
    "vocab_size": 163840,
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 64,
    "max_position_embeddings": 131072,
    "num_nextn_predict_layers": 0,
    "rope_theta": 50000.0,
    "rope_scaling": {"type": "yarn", "factor": 32.0},
}
EAGLE3 = LLAMA | {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1}
SIZES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}


def write_model(folder, config, shapes=None, tokens=None, dtype="BF16"):
    """A model in a folder: its config, where given its shapes and its tokens; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if shapes is not None:
        write_weights(folder / "model.safetensors", shapes, dtype)
    if tokens is not None:
        write_tokenizer(folder, tokens)
    return folder


def write_weights(path, shapes, dtype="BF16"):
    """A safetensors file of the size its header says; a hole on the disk, not zeros."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = SIZES[dtype]
        for n in shape:
            size *= n
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)


def write_tokenizer(folder, tokens, **more):
    """A byte-level BPE tokenizer.json with these tokens, ids counted from 0."""
    ids = {token: i for i, token in enumerate(tokens)} if isinstance(tokens, list) else tokens
    model = {"type": "BPE", "vocab": ids, "merges": [["a", "b"]]}
    whole = {"model": model, "normalizer": None, "pre_tokenizer": {"type": "ByteLevel"}} | more
    (folder / "tokenizer.json").write_text(json.dumps(whole))


def tokens(n, first="t"):
    """Names of n tokens."""
    return [f"{first}{i}" for i in range(n)]


def llama_shapes(config=LLAMA, has_head=True):
    """All tensors of a Llama."""
    size = [config["vocab_size"], config["hidden_size"]]
    shapes = {"model.embed_tokens.weight": size, "model.norm.weight": size[1:]}
    shapes |= {"lm_head.weight": size} if has_head else {}
    for i in range(config["num_hidden_layers"]):
        layer = layer_shapes(config) | norm_shapes(config)
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    return shapes


def layer_shapes(config=LLAMA, n_inputs=None):
    """The matrices of one layer, whose attention has so many inputs."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    width = config.get("head_dim", hidden // config["num_attention_heads"])
    n_q, n_kv = width * config["num_attention_heads"], width * config["num_key_value_heads"]
    return {
        "self_attn.q_proj": [n_q, n_inputs or hidden],
        "self_attn.k_proj": [n_kv, n_inputs or hidden],
        "self_attn.v_proj": [n_kv, n_inputs or hidden],
        "self_attn.o_proj": [hidden, n_q],
        "mlp.gate_proj": [inner, hidden],
        "mlp.up_proj": [inner, hidden],
        "mlp.down_proj": [hidden, inner],
    }


def norm_shapes(config=LLAMA):
    """The norms of one layer."""
    return dict.fromkeys(("input_layernorm", "post_attention_layernorm"), [config["hidden_size"]])


def head_layer(name, hidden, n_inputs):
    """The matrices of an EAGLE head's layer."""
    shapes = layer_shapes(LLAMA | {"hidden_size": hidden}, n_inputs)
    return {f"{name}.{part}.weight": shape for part, shape in shapes.items()}


def eagle_shapes(hidden=64):
    """An EAGLE head: no embedding and no lm_head of its own."""
    return {"fc.weight": [hidden, 2 * hidden]} | head_layer("layers.0", hidden, hidden)


def eagle3_shapes(hidden=64, vocab=100, n=3, target_hidden=None):
    """An EAGLE-3 head that reads n layers."""
    return {
        "fc.weight": [hidden, n * (target_hidden or hidden)],
        "midlayer.hidden_norm.weight": [hidden],
        "lm_head.weight": [vocab, hidden],
    } | head_layer("midlayer", hidden, 2 * hidden)


def medusa_shapes(n=3, hidden=64, vocab=100):
    """Medusa heads as vLLM's own format has them."""
    blocks = {f"blocks.{i}.layers.0.weight": [hidden, hidden] for i in range(n)}
    return blocks | {f"lm_heads.{i}.weight": [vocab, hidden] for i in range(n)}
