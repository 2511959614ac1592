"""Secrets in environment, arguments, URLs and the server's own log are in no file and no output."""

import gzip

import pytest
from capturing import RUN, Capture, capture

PLANTED = {
    "key": "sk-PLANTED-api-key-1",
    "hf": "hf_PLANTEDhuggingface2",
    "aws": "PLANTED/aws+secret3",
    "login": "PLANTEDpassword4",
    "query": "PLANTEDquery5",
    "variable": "PLANTED_variable_6",
    "odd": "PLANTED-short7",
}


def texts(ended):
    """All a capture wrote, decompressed: files of the run folder, the database, both outputs."""
    yield "stdout", ended.out.encode()
    yield "stderr", ended.err.encode()
    for path in ended.run.parent.parent.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            yield path.name, data
            if data[:2] == b"\x1f\x8b":
                yield path.name, gzip.decompress(data)


ENVIRONMENT = {
    "VLLM_API_KEY": PLANTED["key"],
    "HF_TOKEN": PLANTED["hf"],
    "AWS_SECRET_ACCESS_KEY": PLANTED["aws"],
    "HTTPS_PROXY": f"http://user:{PLANTED['login']}@127.0.0.1:1",
    "MY_DB_PASSWORD": PLANTED["variable"],
    "VLLM_CUSTOM_SECRET": PLANTED["odd"],
}
ARGUMENTS = [
    "--api-key", PLANTED["key"],
    "--hf-token", PLANTED["hf"],
    "--tokenizer", f"https://user:{PLANTED['login']}@127.0.0.1/m?token={PLANTED['query']}",
]  # fmt: skip


@pytest.mark.parametrize("version", ["0.12.0", "0.32.0"])
def test_a_complete_capture_holds_none(vllm, tmp_path, version):
    """The older version prints the API key and the token in its log by itself."""
    ended = capture(tmp_path, vllm(version), server=ARGUMENTS, env=ENVIRONMENT).ended()
    assert ended.code == 0, ended.err
    check(ended)


def test_a_key_from_the_environment_opens_the_server_and_is_not_written(vllm, tmp_path):
    ended = capture(tmp_path, vllm(), env=ENVIRONMENT, is_read=False).ended()
    assert ended.code == 0, ended.err
    check(ended)


def test_last_lines_of_a_server_that_fails_hold_none(vllm, tmp_path):
    words = f"cannot load with token {PLANTED['hf']} from http://u:{PLANTED['login']}@h/ as "
    words += f"Authorization: Bearer {PLANTED['key']}"
    ended = capture(
        tmp_path,
        vllm("0.12.0"),
        server=ARGUMENTS,
        env=ENVIRONMENT,
        faults=f"exit-at-start,exit-text={words}",
    ).ended()
    ended.check("server: exited with 1")
    assert "cannot load with token" in ended.err
    check(ended)


def test_a_server_killed_early_leaves_none_in_its_log(vllm, tmp_path):
    running = capture(
        tmp_path, vllm("0.12.0"), server=ARGUMENTS, env=ENVIRONMENT, faults="never-healthy"
    )
    running.until(lambda c: "Loading" in c.log)
    running.signal(2)
    running.signal(15)
    ended = running.ended()
    assert ended.left == []
    check(ended)


def test_a_load_command_hands_on_none(vllm, tmp_path):
    load = f"sh -c 'env; echo --header Authorization:Bearer {PLANTED['key']}'"
    ended = capture(tmp_path, vllm(), "--load", load, server=ARGUMENTS, env=ENVIRONMENT).ended()
    check(ended)


@pytest.mark.parametrize("place", ["127.0.0.1:1", "127.0.0.1:1/v1", "no-such-host.invalid:1"])
def test_a_url_of_a_server_that_is_not_there_is_told_without_its_login(tmp_path, place):
    url = f"http://user:{PLANTED['login']}@{place}?token={PLANTED['query']}"
    words = ("--run", RUN, "--out", "runs", "--db", "t.duckdb", "--url", url)
    ended = Capture(tmp_path, (*words, "--trace-dir", tmp_path, "--api-key", PLANTED["key"]))
    ended = ended.ended()
    assert ended.code in (1, 2)
    assert "Traceback" not in ended.err
    check(ended)


PADDING = "x" * 190
"""Before a secret in an answer, so that the end of what is shown would cut it in two."""


@pytest.mark.parametrize("fault", ["start-profile-500", "request-500=0,request-500-text"])
@pytest.mark.parametrize("padding", ["", PADDING, "x" * 290])
def test_an_error_text_of_the_server_is_told_without_them(vllm, tmp_path, fault, padding):
    words = f"{padding} {PLANTED['hf']} {PLANTED['odd']} --key {PLANTED['query']} refused"
    ended = capture(tmp_path, vllm(), env=ENVIRONMENT, faults=f"{fault}={words}").ended()
    ended.check(r"\*\*\*" if not padding else "500")
    check(ended)


def check(ended):
    found = {
        (name, kind)
        for name, data in texts(ended)
        for kind, secret in PLANTED.items()
        if secret[:10].encode() in data
    }
    assert found == set()
