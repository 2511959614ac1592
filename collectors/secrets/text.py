"""Finds the secrets in one text: by name, by place, by looks."""

import re
from collections.abc import Callable

from tracekit.collectors.secrets.names import (
    is_always_secret,
    is_secret_name,
    is_secret_option,
    is_secret_parameter,
)

Mask = Callable[[str], str]
"""Gives what is to stand where a secret stood; asked for each one found, once."""

SWITCH = re.compile(r"(?i:true|false|none|null|auto|yes|no|on|off)|\*+|")
"""What is no secret under any name."""

NUMBER = re.compile(r"[-+]?\d{1,6}|[-+]?\d*\.\d+")
"""What is one only under a name such as password."""

# Repetitions within which others begin are bounded: a log line is anything, of any length.
_NAMED = re.compile(
    r"(?<![\w.-])(?P<dashes>-{0,2})(?P<name>\w[\w.-]*)"
    r"(?:\\*[\"']?\s{0,4}[:=]\s{0,4}|[\"']\s{0,4},\s{0,4}(?=b?[\"'])|(?P<space>[ \t]{1,4}))"
)
_VALUE = re.compile(
    r"[bBrRuUfF]{0,2}(?P<quote>\\*[\"'])(?P<quoted>(?:\\.|(?!(?P=quote)).){0,20000}?)(?P=quote)"
    r"|(?P<group>\w{0,40}(?:\[[^\]]{0,20000}\]|\([^)]{0,20000}\)|\{[^}]{0,20000}\}))"
    r"|(?P<bare>[\"']?[^\s\"'&]+)",
    re.DOTALL,
)
_HEADER = re.compile(r"digest\b[^\r\n]*|[^\r\n\"']+", re.IGNORECASE)
"""Value of a header, not quoted by itself: it has spaces, and lasts to the end of the line."""

_URL = re.compile(
    r"(?<=://)(?:[^\s/@\"'<>?#]{1,512}|[^\s/@:\"'<>?#]{0,512}:(?!\d{1,5}(?:[/?#]|$))[^\s@\"'<>]{0,512})"
    r"(?:@[^\s/@\"'<>?#]{1,512})*(?=@)"
)
_USER_AT_HOST = re.compile(
    r"(?<![\w./@:%-])[\w.+%-]{1,128}:[^\s@/:,;\"'<>()\[\]{}]{1,512}(?=@(?!sha256:)[\w.-])"
)
_PARAMETER = re.compile(r"(?<=[?&;#])([\w.%-]{1,100})=([^\s&#\"'<>]+)")
_BEARER = re.compile(
    r"(?i:(?<=\bbearer )|(?<=\bbasic ))\s{0,4}"
    r"(?:[\w.~+/-]{12,}|(?=[\w.~+/-]{0,12}\d)[\w.~+/-]{4,})={0,2}"
)
_LOGIN_OPTION = re.compile(
    r"(?<!\S)(?:-u|--(?:proxy-)?user)(?:\s{1,4}|=)[\"']?([^\s:\"']{1,256}:[^\s\"']+)"
)
"""Of curl: `-u user:password`."""
_LOOKS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"hf_(?:(?=[a-z]{0,40}[A-Z0-9])[A-Za-z0-9]{8,}|[a-z]{20,})"
    r"|(?:sk|pk|rk)[-_](?=[\w-]{0,200}[A-Z0-9])[\w-]{8,}"
    r"|(?:gh[oprsu]|npm|gsk|r8|glpat|github_pat|nvapi|dapi|xox[abeoprs]|pypi|tgp_v1)[-_][\w-]{10,}"
    r"|dapi[0-9a-f]{32}|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{30,}"
    r"|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"
    r"|hooks\.slack\.com/services/\S+"
    r")"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


def masked_text(text: str, mask: Mask) -> str:
    """`text` with each secret in it replaced by what `mask` gives for it."""
    text = _LOOKS.sub(lambda found: mask(found[0]), text)
    text = _mask_named(text, mask)
    text = _URL.sub(lambda found: mask_login(found[0], mask), text)
    text = _LOGIN_OPTION.sub(lambda found: _option(found, mask), text)
    text = _USER_AT_HOST.sub(lambda found: mask_login(found[0], mask), text)
    text = _PARAMETER.sub(lambda found: _parameter(found, mask), text)
    return _BEARER.sub(lambda found: mask(found[0]), text)


def mask_login(login: str, mask: Mask) -> str:
    """What stands for `user:password`: the user too may be a token, so that nothing of it stays."""
    password = login.partition(":")[2]
    return mask(password or login)


def is_secret_value(name: str, value: str) -> bool:
    """Whether `value` is to be masked under a secret `name`."""
    if SWITCH.fullmatch(value):
        return False
    return not NUMBER.fullmatch(value) or is_always_secret(name)


def _option(found: re.Match[str], mask: Mask) -> str:
    return found[0].removesuffix(found[1]) + mask_login(found[1], mask)


def _parameter(found: re.Match[str], mask: Mask) -> str:
    name, value = found.groups()
    is_secret = is_secret_parameter(name) and is_secret_value(name, value)
    return f"{name}={mask(value)}" if is_secret else found[0]


def _mask_named(text: str, mask: Mask) -> str:
    """One pass from left to right: what follows a harmless name is looked at again by itself."""
    parts: list[str] = []
    done = at = 0
    while found := _NAMED.search(text, at):
        at = found.end()
        value = _value_after(text, found)
        if value and is_secret_value(found["name"], secret := text[slice(*value)]):
            parts += [text[done : value[0]], mask(secret)]
            done = at = value[1]
    return "".join([*parts, text[done:]])


def _value_after(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Where the value of a secret name begins and ends; None where it is no secret's."""
    name, is_option = found["name"], len(found["dashes"]) > 0
    if found["space"] and not is_option:
        return None
    if not (is_secret_option(name) if is_option else is_secret_name(name)):
        return None
    if _is_header(name) and (value := _HEADER.match(text, found.end())):
        return value.span()
    if not (value := _VALUE.match(text, found.end())):
        return None
    if value["quote"]:
        return value.span("quoted")
    if value["group"]:
        return value.span("group")
    start, end = value.span("bare")
    return start, start + len(text[start:end].rstrip(",;)}]"))


def _is_header(name: str) -> bool:
    """Whether `name` is that of a header whose value has several words."""
    return name.lower().endswith(("authorization", "cookie"))
