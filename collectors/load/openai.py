"""The built-in load: streamed requests to an OpenAI server, a fixed number at a time."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TextIO

import httpx

from tracekit.collectors.certificates import is_verified
from tracekit.collectors.load.prompts import Api, Prompt, Prompts
from tracekit.collectors.load.protocol import IsStopped, LoadSummary, LoadWindow, apart
from tracekit.collectors.load.stream import Answer, AnswerError, Clock, most_at_once, receive
from tracekit.collectors.secrets import redacted_text
from tracekit.errors import CaptureError

PATHS: dict[Api, str] = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
_STOP_POLL_S = 0.05
_CONNECT_TIMEOUT_S = 10.0
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Request:
    """A request ready to send; `n_least` is how many tokens have to come."""

    number: int
    prompt: int
    n_least: int
    body: bytes


@dataclass(frozen=True, slots=True)
class OpenAILoad:
    """Requests of `n_output_tokens` each, as many at a time as the window's concurrency.

    Each stream sends its next request when the last is answered, without think time. `n_requests`
    None: one for each stream, so that all generate side by side from start to end.
    `ignore_eos` makes lengths equal (vLLM and SGLang take it); an answer that is shorter has then
    failed: vLLM cuts output to what the model's length leaves and says nothing. The load ends at
    the first request that fails, or to which nothing comes for `timeout_s`.
    """

    prompts: Prompts
    n_output_tokens: int
    n_requests: int | None = None
    ignore_eos: bool = True
    timeout_s: float = 600.0

    def run(self, window: LoadWindow, stop: threading.Event) -> LoadSummary:
        """Runs all requests and writes a row of each (`Answer`); see `Load.run`."""
        work = _Run(self, window)
        return apart(lambda is_stopped: asyncio.run(work.until(is_stopped)), stop)

    def stream_tokens(self, concurrency: int) -> int | None:
        """That of the longest request; None where a stream sends several."""
        n_requests = self.n_requests or concurrency
        if n_requests > concurrency:
            return None
        prompts = self.prompts.take(n_requests)
        return max(prompt.max_tokens or self.n_output_tokens for prompt in prompts)

    def describe(self) -> dict[str, object]:
        """API, lengths, number and seed of its requests."""
        return {
            "kind": "built-in",
            "api": self.prompts.api,
            "prompts": self.prompts.describe(),
            "output_len": self.n_output_tokens,
            "requests": self.n_requests,
            "ignore_eos": self.ignore_eos,
        }

    def requests(self, window: LoadWindow) -> list[Request]:
        """The requests of one window, in their order."""
        prompts = self.prompts.take(self.n_requests or window.concurrency)
        return [self._request(i, prompt, window.model) for i, prompt in enumerate(prompts)]

    def _request(self, number: int, prompt: Prompt, model: str) -> Request:
        n_tokens = prompt.max_tokens or self.n_output_tokens
        body: dict[str, object] = {
            "model": model,
            "max_tokens": n_tokens,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.ignore_eos:
            body["ignore_eos"] = True
        n_least = n_tokens if self.ignore_eos else 0
        return Request(number, prompt.number, n_least, json.dumps({**body, **prompt.body}).encode())


class _Run:
    """One run of a load in one window."""

    def __init__(self, load: OpenAILoad, window: LoadWindow) -> None:
        self._window = window
        self._path = PATHS[load.prompts.api]
        self._timeout = httpx.Timeout(load.timeout_s, connect=_CONNECT_TIMEOUT_S)
        self._waiting = deque(load.requests(window))
        self._answers: list[Answer] = []
        self._clock = Clock()
        self._patience_s = min(load.timeout_s, _CONNECT_TIMEOUT_S)
        self._start = asyncio.Barrier(window.concurrency)

    async def until(self, is_stopped: IsStopped) -> LoadSummary:
        """Run all requests; cancel them when told to stop."""
        work = asyncio.create_task(self._all())
        watch = asyncio.create_task(_until(is_stopped))
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        watch.cancel()
        if work.cancel():  # False: it was done
            await asyncio.wait({work})
        if work.cancelled():
            raise CaptureError(f"load: stopped in window {self._window.name}; capture again")
        return await work

    async def _all(self) -> LoadSummary:
        with _rows(self._window) as rows:
            async with self._client() as client:
                try:
                    async with asyncio.TaskGroup() as streams:
                        for _ in range(self._window.concurrency):
                            streams.create_task(self._stream(client, rows))
                except ExceptionGroup as failed:
                    raise failed.exceptions[0] from None
        return self._summary()

    def _client(self) -> httpx.AsyncClient:
        key, url = self._window.api_key, self._window.url
        return httpx.AsyncClient(
            base_url=url,
            verify=is_verified(url),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=self._timeout,
            limits=httpx.Limits(max_connections=self._window.concurrency),
            trust_env=False,
        )

    async def _stream(self, client: httpx.AsyncClient, rows: TextIO) -> None:
        await self._connected(client)
        while self._waiting:
            request = self._waiting.popleft()
            answer = Answer(request.number, request.prompt, start_ns=self._clock.now_ns())
            self._answers.append(answer)
            try:
                await receive(client, self._path, request.body, answer, self._clock)
                answer.refuse_shorter_than(request.n_least)
                answer.status = "ok"
            except (AnswerError, httpx.HTTPError) as error:
                answer.status, answer.error = "failed", self._reason(error)
                raise CaptureError(self._message(answer)) from error
            finally:
                answer.end_ns = self._clock.now_ns()
                rows.write(json.dumps(asdict(answer)) + "\n")

    async def _connected(self, client: httpx.AsyncClient) -> None:
        """All streams have their connections before the first request: short ones overlap."""
        with suppress(httpx.HTTPError):  # it is the request that tells what is wrong
            await client.get("/health", timeout=self._patience_s)
        await self._start.wait()

    def _reason(self, error: AnswerError | httpx.HTTPError) -> str:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return "no connection"
        if isinstance(error, httpx.TimeoutException):
            return f"nothing came for {self._timeout.read:g} s"
        text = str(error) or "the connection broke"
        return redacted_text(text, self._window.secrets)[:_SHOWN_CHARACTERS].rstrip(". \n")

    def _message(self, answer: Answer) -> str:
        return (
            f"load: request {answer.request} of window {self._window.name}: "
            f"POST {self._path}: {answer.error}; "
            "look into the server's log, and at model, prompt and output length"
        )

    def _summary(self) -> LoadSummary:
        start_ns = min(answer.start_ns for answer in self._answers)
        end_ns = max(answer.end_ns or answer.start_ns for answer in self._answers)
        counts = [answer.n_tokens for answer in self._answers]
        n_tokens = sum(n for n in counts if n is not None) if None not in counts else None
        n_answers, most = len(self._answers), most_at_once(self._answers)
        return LoadSummary(start_ns, end_ns - start_ns, n_answers, n_tokens, most)


async def _until(is_stopped: IsStopped) -> None:
    while not is_stopped():
        await asyncio.sleep(_STOP_POLL_S)


@contextmanager
def _rows(window: LoadWindow) -> Iterator[TextIO]:
    path = window.folder.load_rows(window.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", buffering=1, encoding="utf-8") as rows:
            yield rows
    except OSError as error:
        raise CaptureError(
            f"{path}: {error.strerror}; make room, or choose another --out"
        ) from error
