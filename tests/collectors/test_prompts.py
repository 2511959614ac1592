"""Prompts that are made up, and prompts of a file."""

import json

import pytest

from tracekit.collectors.load.prompts import SyntheticPrompts, read_prompts
from tracekit.errors import CaptureError


def ids(prompts):
    return [prompt.body["prompt"] for prompt in prompts]


@pytest.mark.parametrize("n", [1, 3, 4, 5, 300])
@pytest.mark.parametrize("api", ["completions", "chat"])
def test_a_made_up_prompt_has_the_length_asked_for(n, api):
    (prompt,) = SyntheticPrompts(n, seed=0, api=api).take(1)
    if api == "chat":
        assert len(prompt.body["messages"][0]["content"].split(" ")) == n
    else:
        assert len(prompt.body["prompt"]) == n


def test_a_seed_makes_the_same_prompts_whatever_their_number():
    few, many = (ids(SyntheticPrompts(50, seed=3).take(n)) for n in (2, 5))
    assert few == many[:2]


def test_other_seeds_and_other_requests_have_other_prompts():
    prompts = ids(SyntheticPrompts(50, seed=3).take(2)) + ids(SyntheticPrompts(50, seed=4).take(2))
    assert len({tuple(p) for p in prompts}) == 4


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_every_window_has_exactly_the_same_prompts(api):
    source = SyntheticPrompts(50, seed=3, api=api)
    assert source.take(4) == source.take(4)


def test_token_ids_are_clear_of_special_tokens_and_small_vocabularies():
    (prompt,) = ids(SyntheticPrompts(5000, seed=0).take(1))
    assert min(prompt) >= 1000
    assert max(prompt) < 2000


def write(tmp_path, content):
    path = tmp_path / "prompts"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_text_file_has_one_prompt_per_line(tmp_path):
    path = write(tmp_path, "\ufeffWhy?\r\n\n{not JSON\na\u2028b\n")
    taken = ids(read_prompts(path, "completions").take(3))
    assert taken == ["Why?", "{not JSON", "a\u2028b"]


def test_a_file_is_begun_again_where_a_window_has_more_requests(tmp_path):
    prompts = read_prompts(write(tmp_path, "a\nb\n"), "completions").take(5)
    assert [prompt.number for prompt in prompts] == [0, 1, 0, 1, 0]


def test_a_text_becomes_the_message_of_a_user_in_chat(tmp_path):
    (prompt,) = read_prompts(write(tmp_path, "Why?"), "chat").take(1)
    assert prompt.body == {"messages": [{"role": "user", "content": "Why?"}]}


def test_a_jsonl_file_has_text_token_ids_and_limits(tmp_path):
    rows = [{"prompt": "a", "more": 1}, {"prompt": [5, 6], "max_tokens": 9}]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)))
    prompts = read_prompts(path, "completions").take(2)
    assert [p.body for p in prompts] == [{"prompt": "a"}, {"prompt": [5, 6]}]
    assert [p.max_tokens for p in prompts] == [None, 9]


def test_a_jsonl_file_has_messages_for_chat(tmp_path):
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "Why?"}]
    path = write(tmp_path, json.dumps({"messages": messages}))
    assert read_prompts(path, "chat").take(1)[0].body == {"messages": messages}


WRONG = {
    "empty": (" \n\n", "completions", "no prompt in it; write one per line"),
    "no UTF-8": (b"ok\n\xff\n", "completions", "byte 3: is not UTF-8"),
    "text among JSONL": ('{"prompt": "a"}\n\nb\n', "completions", "line 3: is no JSON object"),
    "no prompt": ('{"text": "a"}', "completions", "line 1: no prompt for the completions API"),
    "messages": ('{"messages": []}', "completions", "no prompt for the completions API"),
    "token ids": ('{"prompt": [1]}', "chat", "no prompt for the chat API"),
    "limit": ('{"prompt": "a", "max_tokens": 0}', "chat", "line 1: max_tokens 0 is no number"),
}


@pytest.mark.parametrize(("content", "api", "message"), WRONG.values(), ids=WRONG)
def test_a_file_that_is_not_prompts_is_refused(tmp_path, content, api, message):
    with pytest.raises(CaptureError) as raised:
        read_prompts(write(tmp_path, content), api)
    assert message in str(raised.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(CaptureError, match="No such file"):
        read_prompts(tmp_path / "absent", "chat")
    with pytest.raises(CaptureError, match="is no file"):
        read_prompts(tmp_path, "chat")
