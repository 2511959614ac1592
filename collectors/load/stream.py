"""One request to an OpenAI server and its streamed answer, with the times at which it arrived."""

import json
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

import httpx

MAX_LINE_BYTES = 1 << 20
"""Longest line of a stream that is taken; a chunk has some hundred bytes."""

_MAX_MESSAGE_BYTES = 4096


class AnswerError(Exception):
    """An answer that is no complete one; the message says what came instead."""


@dataclass(slots=True)
class Answer:
    """What came of one request: a row of the load's file.

    Times are epoch ns. A chunk is an event with output in it; where the network brings several at
    once they have one arrival time or nearly so, which is why arrival is no time per token.
    `n_prompt_tokens` and `n_tokens` are the server's own count (usage), None where it sent none.
    `first_chunk_ns` is None before the first.
    """

    request: int
    prompt: int
    start_ns: int
    first_chunk_ns: int | None = None
    end_ns: int | None = None
    n_prompt_tokens: int | None = None
    n_tokens: int | None = None
    status: Literal["ok", "failed", "cancelled"] = "cancelled"
    error: str | None = None
    chunk_offsets_ns: list[int] = field(default_factory=list)

    def take(self, event: dict[str, object], arrived_ns: int) -> None:
        """Adds one event of the stream.

        Raises:
            AnswerError: the event is an error of the server's.
        """
        if event.get("error") or event.get("object") == "error":
            raise AnswerError(f"error in the stream: {message(event)}")
        if event.get("choices"):
            self.first_chunk_ns = self.first_chunk_ns or arrived_ns
            self.chunk_offsets_ns.append(arrived_ns - self.start_ns)
        usage = event.get("usage")
        if isinstance(usage, dict):
            self.n_prompt_tokens = _count(usage.get("prompt_tokens"))
            self.n_tokens = _count(usage.get("completion_tokens"))

    def refuse_shorter_than(self, n_tokens: int) -> None:
        """Raises AnswerError where the server says that it emitted fewer than `n_tokens`."""
        if self.n_tokens is not None and self.n_tokens < n_tokens:
            raise AnswerError(
                f"{self.n_tokens} of {n_tokens} tokens generated: "
                "prompt and output exceed the model's length, or the server takes no ignore_eos"
            )


def most_at_once(answers: Iterable[Answer]) -> int:
    """Most requests that were on their way at the same time."""
    spans = [(answer.start_ns, answer.end_ns or answer.start_ns) for answer in answers]
    changes = [change for start, end in spans for change in ((start, 1), (end, -1))]
    return max(accumulate(change for _, change in sorted(changes)), default=0)


class Clock:
    """Epoch ns that never step back: read once, carried on by the monotonic clock."""

    def __init__(self) -> None:
        """Reads the wall clock."""
        self._base_ns = time.time_ns() - time.perf_counter_ns()

    def now_ns(self) -> int:
        """Time since the epoch."""
        return self._base_ns + time.perf_counter_ns()


async def receive(
    client: httpx.AsyncClient, path: str, body: bytes, answer: Answer, clock: Clock
) -> None:
    """Sends a request and fills `answer` as its stream arrives.

    Raises:
        AnswerError: the server refused, sent an error, or ended the stream early.
        httpx.HTTPError: the connection failed.
    """
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    async with client.stream("POST", path, content=body, headers=headers) as response:
        if response.status_code != httpx.codes.OK:
            raise AnswerError(f"{response.status_code} {await _refusal(response)}")
        is_done = False
        async for data in _event_data(response):  # to its end, so that the connection is kept
            if data == b"[DONE]":
                is_done = True
            else:
                answer.take(_event(data), clock.now_ns())
    if not is_done:
        raise AnswerError("the stream ended before [DONE]")


async def _event_data(response: httpx.Response) -> AsyncIterator[bytes]:
    """Data of server-sent events. httpx's own lines end at U+2028 too, which JSON may hold."""
    rest = b""
    async for part in response.aiter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise AnswerError(f"a line of more than {MAX_LINE_BYTES} bytes in the stream")
        for line in lines:
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").strip()


def _event(data: bytes) -> dict[str, object]:
    event = _json(data)
    if not isinstance(event, dict):
        raise AnswerError(f"no JSON object in the stream: {_text(data)!r}")
    return event


async def _refusal(response: httpx.Response) -> str:
    content = b""
    async for part in response.aiter_bytes():
        content += part
        if len(content) > _MAX_MESSAGE_BYTES:
            break
    return message(_json(content)) or _text(content)


def message(answer: object) -> str:
    """Text of an error that a server sent, secrets included; empty where there is none.

    Source: vLLM 0.32 sends {"error": {"message": ...}}, older ones and SGLang {"message": ...},
    FastAPI {"detail": ...}.
    """
    while isinstance(answer, dict):
        answer = answer.get("error") or answer.get("message") or answer.get("detail")
    return str(answer or "").rstrip(". \n")


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _text(data: bytes) -> str:
    return data[:_MAX_MESSAGE_BYTES].decode(errors="replace")


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
