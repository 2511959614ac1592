"""Planted secrets that must not be found again, and what must stay readable beside them."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tracekit.collectors.secrets import (
    known_secrets,
    redacted_arguments,
    redacted_environment,
    redacted_text,
    redacted_url,
    redacted_value,
)
from tracekit.collectors.secrets.names import is_secret_name

PLANT = "S3cr3t/pl4nt+Zq=="
WORD = "pl4ntedW0rd"
PLANTS = re.compile("|".join(map(re.escape, ("S3cr3t", "pl4nt", "W0rd"))))

NAMES = (
    "HF_TOKEN HUGGING_FACE_HUB_TOKEN HF_TOKEN_2 HF_TOKEN_READ GITHUB_TOKEN OPENAI_API_KEY"
    " VLLM_API_KEY MY_SECRET_THING CLIENT_SECRET AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"
    " AWS_SESSION_TOKEN DB_PASSWORD PGPASSWORD REDIS_PASS MYSQL_PWD WANDB_API_KEY SSH_PRIVATE_KEY"
    " PROXY_AUTH Authorization Proxy-Authorization X-Api-Key X-Auth-Token Cookie apiKey authToken"
    " accessToken api_keys hf_token admin_api_key --kv-transfer-config.extra.auth_token password"
)

HARMLESS = (
    "max_tokens num_speculative_tokens tokenizer tokenizer_mode eos_token eos_token_id bos_token"
    " pad_token token_ids max_num_batched_tokens cache_key sort_key ssl-keyfile HF_TOKEN_PATH PWD"
    " TOKENIZERS_PARALLELISM time_per_output_token key author monkey VLLM_CACHE_ROOT"
    " skip-tokenizer-init AWS_SHARED_CREDENTIALS_FILE SSH_AUTH_SOCK image_token"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", HARMLESS.split())
def test_names_that_only_sound_like_secrets(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", PLANT],
        [f"--api-key={PLANT}"],
        ["--api-key", WORD, "pl4nt2", "--port", "8000"],
        ["--api-key", f"-{WORD}"],
        ["--hf-token", PLANT],
        [f"--profiler-config.token={PLANT}"],
        ["--kv-transfer-config.extra.password", PLANT],
        [f"HF_TOKEN={PLANT}"],
        ["-e", f"HF_TOKEN={PLANT}"],
        [f"--env=HF_TOKEN={WORD} {PLANT}"],
        ["--header", f"Authorization: Bearer {PLANT}"],
        ["--header", f"Authorization=Basic {PLANT}"],
        ["-H", f"X-Api-Key: {PLANT}"],
        ["-u", f"user:{PLANT}"],
        ["--config", json.dumps({"token": PLANT})],
        ["--config", json.dumps({"a": [{"auth": {"user": {"x": WORD}, "d": PLANT}}]})],
        ["--config", json.dumps({"nested": json.dumps({"api_key": PLANT})})],
        [f"--config={json.dumps({'credentials': [WORD, PLANT]})}"],
        ["--config", f'{{"password": "{PLANT}", broken'],
        ["--config", json.dumps({"url": f"https://user:{PLANT}@host/v1"})],
        ["--password", "pl4nt with spaces W0rd"],
        ["--key", PLANT],
        [f"--key={PLANT}"],
        ["--pw", WORD],
        [f"--env=--key={WORD}"],
        ["--load", f"bench --key {WORD} --pw {PLANT}"],
        ["--load", f"curl -H 'Authorization: Bearer {PLANT}' http://127.0.0.1"],
        ["--load", f"bench --api-key {PLANT} --n 3"],
        ["--load", f"HF_TOKEN={PLANT} bench"],
        ["bash", "-c", f"export OPENAI_API_KEY='{PLANT}'; vllm serve m"],
        ["--url", f"http://{WORD}@127.0.0.1:8000"],
        ["--url", f"http://127.0.0.1:8000/v1?key={PLANT}&n=1"],
    ],
    ids=str,
)
def test_no_secret_of_a_command_line_stays(words):
    command = ["vllm", "serve", "model", *words, "--port", "8000"]
    redacted = redacted_arguments(command)
    assert not PLANTS.search(" ".join(redacted))
    assert "***" in " ".join(redacted)
    assert redacted[:3] == command[:3]
    assert redacted[-2:] == ["--port", "8000"]
    assert len(redacted) == len(command)


def test_a_command_line_without_secrets_stays_as_it_is():
    command = shlex.split(
        "env OMP_NUM_THREADS=2 vllm serve org/model-7b@main -tp 8 --max-num-batched-tokens 8192"
        " --enable-auth model --tokenizer t --host 127.0.0.1 --port 8000 -pp 2"
    )
    command += ["--speculative-config", '{"method":"eagle3", "num_speculative_tokens":3}']
    command += ["--hf-overrides", '{"eos_token": "</s>", "pad_token": "<pad>"}']
    command += ["--allowed-origins", '["*"]', "--ssl-keyfile", "/etc/key.pem"]
    assert redacted_arguments(command) == command
    assert known_secrets(command, {}) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {PLANT}",
        f"headers={{'authorization': 'Bearer {PLANT}', 'x': 'y'}}",
        f"[(b'authorization', b'Bearer {PLANT}'), (b'x-api-key', b'{PLANT}')]",
        f'Authorization: Digest username="{WORD}", response="{PLANT}"',
        f"Cookie: session={WORD}; id={PLANT}",
        f"sent bearer {PLANT}",
        "sent Bearer W0rd",
        f"curl -u user:{WORD} http://127.0.0.1",
        f"curl --proxy-user='user:{PLANT}' http://127.0.0.1",
        f"redis://:{WORD}@host",
        f"x-goog-api-key:{WORD}",
        f"api_key: {WORD}",
        f"\x1b[36mapi_key={WORD}\x1b[0m",
        f"a%20token={WORD}",
        f"{'x' * 500}_token={WORD}",
        f"non-default args: {{'port': 1, 'api_key': ['{WORD}', '{PLANT}'], 'model': 'm'}}",
        f"Namespace(api_key='{PLANT}', hf_token={WORD}, port=1)",
        f"ServerArgs(model_path='m', api_key='{PLANT}', admin_api_key='{WORD}')",
        f'{{"token": "{PLANT}", "n": 1}}',
        f'config="{{\\"token\\": \\"{PLANT}\\"}}"',
        f'password="pl4nt with \\" quote {WORD}"',
        f'token="{WORD}',
        f"SecretKey({{'api_key': SecretStr('{PLANT}')}})",
        f"export HF_TOKEN={WORD},{PLANT}",
        f"HTTP_PROXY=http://user:{WORD}@proxy:3128",
        f"proxy user:{WORD}@proxy.local:3128 used",
        f"postgres://user:{PLANT}@db/x",
        f"http://user:p@{WORD}@host/x",
        f"GET /v1/models?api_key={PLANT}&x=1 HTTP/1.1",
        f"https://b.s3/x?X-Amz-Credential={WORD}&X-Amz-Signature={WORD}",
        f"https://x/callback#access_token={WORD}",
        "hf_pl4ntW0rdpl4ntW0rdpl4ntW0rdpl4nt",
        "model 'sk-proj-pl4nt_W0rd-pl4ntpl4nt' used",
        "ghp_pl4ntW0rdpl4ntW0rd glpat-pl4ntW0rdpl4ntW0rd xoxb-pl4ntW0rd-pl4nt",
        "eyJpl4ntW0rdpl4nt.pl4ntW0rd.W0rd",
        f"-----BEGIN RSA PRIVATE KEY-----\n{PLANT}\n{WORD}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_no_secret_of_a_text_stays(text):
    redacted = redacted_text(f"before {text}\nafter")
    assert not PLANTS.search(redacted)
    assert redacted.startswith("before ")
    assert redacted.endswith("\nafter")


def test_what_is_beside_a_secret_stays():
    text = f"args: {{'port': 8000, 'api_key': ['{PLANT}'], 'model': 'm'}} took 3 s"
    assert redacted_text(text) == "args: {'port': 8000, 'api_key': ***, 'model': 'm'} took 3 s"
    text = f"curl -H 'Authorization: Bearer {PLANT}' http://127.0.0.1:8000/v1"
    assert redacted_text(text) == "curl -H 'Authorization: ***' http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    "text",
    [
        "POST http://127.0.0.1:8000/start_profile 404, see docs@example.com",
        "eos_token_id=2, pad_token='<pad>', max_tokens: 16, tokens: 12",
        "image vllm/vllm-openai:v0.32.0@sha256:0123456789abcdef",
        "api_key=None, hf_token=null, token: 5",
        "(Worker_TP0 pid=12) INFO 11-29 12:03:32 [metrics.py:120] Accepted: 58 tokens, key: value",
        "from hf_config import hf_overrides, hf_transfer; task-scheduling; disk-usage",
        "cannot reach git@host:path and 12:30:01.123",
    ],
)
def test_a_text_without_secrets_stays_as_it_is(text):
    assert redacted_text(text) == text


def test_recorded_server_logs_stay_as_they_are():
    root = Path(__file__).parents[2] / "sample_traces"
    logs = sorted(root.glob("*/logs/server.log"))
    assert logs
    for log in logs:
        text = log.read_text()
        assert redacted_text(text) == text


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        (f"http://user:{WORD}@host:8000/v1", "http://***@host:8000/v1"),
        (f"{WORD}@host:8000", "***@host:8000"),
        (f"user:{WORD}@host:8000", "***@host:8000"),
        (f"https://host/?key={WORD}&n=1", "https://host/?key=***&n=1"),
        ("http://127.0.0.1:8000/a?b=c", "http://127.0.0.1:8000/a?b=c"),
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_urls(url, redacted):
    assert redacted_url(url) == redacted


def test_a_json_value_keeps_its_shape():
    value = {
        "api_key": [PLANT, WORD],
        "password": 123456,
        "auth": {"user": WORD, "on": True, "none": None},
        "eos_token_id": 2,
        "url": f"http://u:{WORD}@h",
        "list": [{"token": WORD}, 1.5],
    }
    assert redacted_value(value) == {
        "api_key": ["***", "***"],
        "password": "***",
        "auth": {"user": "***", "on": True, "none": None},
        "eos_token_id": 2,
        "url": "http://***@h",
        "list": [{"token": "***"}, 1.5],
    }


def test_only_variables_that_matter_are_kept():
    environment = {
        "VLLM_USE_V2_MODEL_RUNNER": "0",
        "NCCL_DEBUG": "INFO",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "VLLM_API_KEY": PLANT,
        "SGLANG_CONFIG": json.dumps({"token": PLANT, "n": 1}),
        "VLLM_MOONCAKE": f"http://u:{WORD}@h",
        "HF_TOKEN": PLANT,
        "AWS_SECRET_ACCESS_KEY": PLANT,
        "PATH": "/bin",
        "USER": "somebody",
    }
    redacted = redacted_environment(environment)
    assert redacted == {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "HF_HUB_OFFLINE": "1",
        "NCCL_DEBUG": "INFO",
        "SGLANG_CONFIG": '{"token": "***", "n": 1}',
        "VLLM_API_KEY": "***",
        "VLLM_MOONCAKE": "http://***@h",
        "VLLM_USE_V2_MODEL_RUNNER": "0",
    }


def test_a_secret_of_command_or_environment_is_masked_wherever_it_turns_up():
    command = ["vllm", "serve", "m", "--api-key", PLANT, "--url", f"http://u:{WORD}@h"]
    known = known_secrets(command, {"DB_PASSWORD": "hunter2", "GH_TOKEN": 'a"b c/d-12345'})
    log = f'{PLANT} S3cr3t%2Fpl4nt%2BZq%3D%3D {WORD} hunter2 hunter22 a\\"b c/d-12345'
    assert redacted_text(log, known) == "*** *** *** *** hunter22 ***"
    assert redacted_arguments(["x", f"pre{PLANT}post"], known) == ["x", "pre***post"]
    assert redacted_environment({"VLLM_X": WORD}, known) == {"VLLM_X": "***"}
    assert redacted_value({"a": [WORD]}, known) == {"a": ["***"]}
    assert redacted_url(f"http://h/{WORD}", known) == "http://h/***"


def test_a_key_that_is_a_common_word_is_masked_in_its_place_only():
    command = ["vllm", "serve", "vllm-model", "--api-key", "vllm"]
    assert (
        known_secrets(command, {"API_KEY": "EMPTY", "X_TOKEN": "0", "Y_TOKEN": "true"})
        == frozenset()
    )
    assert redacted_arguments(command) == ["vllm", "serve", "vllm-model", "--api-key", "***"]


# fmt: off
@pytest.mark.parametrize("piece", [
    "token=", "://", "a:", "hf_", '"token": "', "sk-", "?key=", "x" * 300, "token[", "a.", "token(",
    "-----BEGIN PRIVATE KEY-----", "Authorization: ", "a:b@", "eyJ", '\\"', "--token ", "-u a:",
    "a b: ", "://a:", "bearer ",
])
# fmt: on
def test_a_long_line_of_anything_is_no_endless_search(piece):
    """Where a pattern's time grows with the square of the line, this needs minutes."""
    assert redacted_text(piece * (200_000 // len(piece)))
