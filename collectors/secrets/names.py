"""Which names hold secrets: of variables, options, headers, JSON members and URL parameters."""

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_ALWAYS = re.compile(
    r"accesskey|apikey|authorization|authtoken|bearer|cookie|credential|encryptionkey|jwt|passphrase"
    r"|passwd|password|privatekey|secret|pwd$"
)
"""Anywhere in a name, its words put together: AWS_ACCESS_KEY_ID, apiKey, PGPASSWORD."""

_LOCATION = re.compile(r"dir|directory|file|filename|folder|path|sock|socket")
"""Last word of a name that says where a secret lies, not what it is: HF_TOKEN_PATH."""

_MODEL_TOKEN = re.compile(
    r"additional|audio|begin|bos|by|cls|decoder|draft|each|end|eos|extra|first|generated|image|input"
    r"|last|mask|max|min|new|next|num|one|output|pad|per|placeholder|prompt|sampled|sep|special|start"
    r"|stop|target|think|tool|unk|video|vision"
)
"""What stands before `token` where it is one of a language model's."""

_LOGIN = re.compile(r"access|api|auth|bearer|hf|hub|refresh|session")
"""What stands before `tokens` where it does not count a language model's."""

_LOOKUP = re.compile(
    r"any|block|by|cache|dict|foreign|group|hash|image|json|kv|label|mm|partition|per|prefix|primary"
    r"|public|router|routing|row|sort|state|text"
)
"""What stands before `key` where it finds something and locks nothing."""

_PARAMETER = re.compile(r"code|key|pass|pwd|sig|signature")
"""Last word of a secret parameter of a URL: `key`, `X-Amz-Signature`."""


def is_secret_name(name: str) -> bool:
    """Whether what `name` holds is never to be written down."""
    words = _words(name)
    if not words or _LOCATION.fullmatch(words[-1]) or name in ("PWD", "OLDPWD"):
        return False
    is_login = words[-1] in ("auth", "pass", "pw") or _is_token(words) or _is_key(words)
    return is_login or is_always_secret(name)


def is_secret_option(option: str) -> bool:
    """Whether the value of `--option` is a secret: `--key X` is, a mere `key: X` is not."""
    return _words(option) == ["key"] or is_secret_name(option)


def is_always_secret(name: str) -> bool:
    """Whether even a short number under `name` is a secret: a password may be 1234."""
    return _ALWAYS.search("".join(_words(name))) is not None


def is_secret_parameter(name: str) -> bool:
    """Whether the value of a URL's parameter is a secret: `?key=...` is one."""
    words = _words(name)
    return bool(words and _PARAMETER.fullmatch(words[-1])) or is_secret_name(name)


def _words(name: str) -> list[str]:
    """`--hfToken_2` as ['hf', 'token']: a number at the end only counts."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    return words


def _is_token(words: list[str]) -> bool:
    before = words[-2] if len(words) > 1 else ""
    if words[-1] == "tokens":
        return _LOGIN.fullmatch(before) is not None
    if words[-1].endswith("token"):
        return not _MODEL_TOKEN.fullmatch(before)
    pairs = zip(words, words[1:], strict=False)  # HF_TOKEN_READ; not max_token_len, token_id
    return any(second == "token" and _LOGIN.fullmatch(first) for first, second in pairs)


def _is_key(words: list[str]) -> bool:
    return words[-1] in ("key", "keys") and len(words) > 1 and not _LOOKUP.fullmatch(words[-2])
