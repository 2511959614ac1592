"""Where a server will listen, and how many ranks it has."""

import pytest

from tracekit.collectors.engines.served import url_of
from tracekit.collectors.engines.vllm import api_key_of, n_ranks
from tracekit.errors import CaptureError
from tracekit.readers.serve_command import options_of


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ("m", "http://127.0.0.1:8000"),
        ("m --port 9000 --host 0.0.0.0", "http://127.0.0.1:9000"),
        ("m --port=9000 --host=10.0.0.5", "http://10.0.0.5:9000"),
        ("m --host ::1", "http://[::1]:8000"),
        ("m --host ::", "http://[::1]:8000"),
        ("m --port 9000 --port 9001", "http://127.0.0.1:9001"),
    ],
)
def test_it_listens_where_its_arguments_say(words, url):
    assert url_of(options_of(words.split()), port=8000) == url


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("m", 1),
        ("m -tp 4", 4),
        ("m -tp=4 --pipeline-parallel-size 2 -dp 3", 24),
        ("m --tensor_parallel_size 2", 2),
        ("m --config c.yaml", None),
        ("m -dp 4 --data-parallel-size-local 2", None),
    ],
)
def test_its_ranks_are_counted_unless_others_have_a_say(words, expected):
    assert n_ranks(options_of(words.split())) == expected


def test_the_key_of_the_arguments_goes_before_that_of_the_environment():
    environment = {"VLLM_API_KEY": "of-environment"}
    assert api_key_of({"api-key": "k"}, environment) == "k"
    assert api_key_of({}, environment) == "of-environment"


@pytest.mark.parametrize("words", [["--uds", "/s"], ["--ssl-keyfile", "k"], ["--headless"]])
def test_a_server_that_cannot_be_reached_is_refused(words):
    with pytest.raises(CaptureError, match="leave it out"):
        url_of(options_of(words), port=8000)
