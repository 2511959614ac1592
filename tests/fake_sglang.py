"""A stand-in for an SGLang server, without torch: strict about arguments and requests.

FAKE_SGLANG is its version. It answers on the routes of that version, streams completions, counts,
and writes one trace per tensor-parallel rank under the names that SGLang gives. `strict` behind the
version makes it refuse members of a profile request that it does not know, not ignore them.
"""

import argparse
import gzip
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STEP_S = 0.002
KNOWN = {
    "output_dir", "start_step", "num_steps", "activities", "profile_by_stage", "with_stack",
    "record_shapes",
}  # fmt: skip
NEWER = {"merge_profiles", "profile_prefix", "profile_stages"}


def install(folder):
    """Gives the folder `sglang`, as a module and as a command."""
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    start += "from fake_sglang import main\n"
    script = folder / "bin" / "sglang"
    for path in (folder / "sglang", script.parent):
        path.mkdir()
    (folder / "sglang" / "__init__.py").write_text("")
    (folder / "sglang" / "launch_server.py").write_text(f"{start}main()\n")
    script.write_text(f"#!{sys.executable}\n{start}sys.argv.remove('serve')\nmain()\n")
    script.chmod(0o755)
    return folder


def main():
    """Run the server."""
    version, *mood = os.environ["FAKE_SGLANG"].split()
    app = App(_arguments(), version, "strict" in mood)
    threading.Thread(target=app.work, daemon=True).start()
    ThreadingHTTPServer((app.settings.host, app.settings.port), _handler(app)).serve_forever()


def _arguments():
    parser = argparse.ArgumentParser("sglang", allow_abbrev=False)
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--tp-size", "--tp", "--tensor-parallel-size", type=int, default=1)
    parser.add_argument("--enable-metrics", action="store_true")
    parser.add_argument("--api-key")
    return parser.parse_args()


class App:
    """The scheduler: one step after the other while a request waits for tokens."""

    def __init__(self, settings, version, is_strict):
        self.settings, self.version, self.is_strict = settings, version, is_strict
        self.known = KNOWN | (set() if version.startswith("0.4") else NEWER)
        self.lock = threading.Condition()
        self.requests = []
        self.n_steps = self.n_tokens = 0
        self.profile = None

    def work(self):
        while True:
            with self.lock:
                self.lock.wait_for(lambda: self.requests)
                started = time.time_ns()
                time.sleep(STEP_S)
                self._step(started)

    def _step(self, started):
        self.n_steps += 1
        self.n_tokens += len(self.requests)
        if self.profile:
            self.profile["steps"].append((started, len(self.requests)))
            if self.profile.get("num_steps") == len(self.profile["steps"]):
                self.stop()
        for request in self.requests:
            request["left"] -= 1
        self.requests = [request for request in self.requests if request["left"]]
        self.lock.notify_all()

    def start(self, body):
        """Status of the answer."""
        if self.is_strict and set(body) - self.known:
            return 422
        if self.profile:
            return 500
        known = {name: value for name, value in body.items() if name in self.known}
        self.profile = {"with_stack": True, "record_shapes": True, **known, "steps": []}
        return 200

    def stop(self):
        """Status of the answer."""
        if not self.profile:
            return 500
        profile, self.profile = self.profile, None
        prefix = f"{profile['profile_prefix']}-" if profile.get("profile_prefix") else ""
        for rank in range(self.settings.tp_size):
            name = f"{prefix}{time.time()}-TP-{rank}.trace.json.gz"
            text = json.dumps(_trace(profile, rank, self.settings.tp_size))
            (Path(profile["output_dir"]) / name).write_bytes(gzip.compress(text.encode()))
        return 200

    def told(self):
        """Answer of /server_info."""
        return {**vars(self.settings), "version": self.version, "internal_states": [{"load": 1}]}

    def metrics(self):
        """Answer of /metrics."""
        name = "sglang:generation_tokens_total"
        return f'# TYPE {name} counter\n{name}{{engine_type="unified"}} {self.n_tokens}\n'


def _trace(profile, rank, size):
    events = []
    for number, (started, n_requests) in enumerate(profile["steps"]):
        ts, name = started / 1000, f"step[DECODE bs={n_requests}]"
        host = {"ph": "X", "pid": 1, "tid": 1}
        device = {"ph": "X", "pid": rank, "tid": 7}
        where = {"device": rank, "stream": 7, "correlation": number + 1}
        runtime = {"name": "cudaLaunchKernel", "args": {"correlation": number + 1}}
        kernel = {"name": "void gemm_kernel()", "args": where}
        events += [
            {**host, "cat": "user_annotation", "name": "scheduler.run_batch", "ts": ts, "dur": 900},
            {**host, "cat": "user_annotation", "name": name, "ts": ts + 10, "dur": 800},
            {**host, **runtime, "cat": "cuda_runtime", "ts": ts + 20, "dur": 5},
            {**device, **kernel, "cat": "kernel", "ts": ts + 40, "dur": 500},
        ]
    asked = {name: value for name, value in profile.items() if name != "steps"}
    info = {"rank": rank, "world_size": size}
    gpus = [{"id": number, "name": "GPU"} for number in range(size)]
    return {
        "deviceProperties": gpus,
        "distributedInfo": info,
        "asked": asked,
        "traceEvents": events,
    }


def _handler(app):
    is_new = not app.version.startswith("0.4")
    texts = {"/health": lambda: ""}
    if app.settings.enable_metrics:
        texts["/metrics"] = app.metrics
    texts["/server_info" if is_new else "/get_server_info"] = lambda: json.dumps(app.told())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            text = texts.get(self.path)
            self._answer(200 if text else 404, text() if text else "")

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
            with app.lock:
                match self.path:
                    case _ if app.settings.api_key and not self._has_key():
                        self._answer(401, "")
                    case "/start_profile":
                        self._answer(app.start(body), "")
                    case "/stop_profile":
                        self._answer(app.stop(), "")
                    case "/v1/completions":
                        self._complete(body)
                    case _:
                        self._answer(404, "")

        def _has_key(self):
            return self.headers.get("Authorization") == f"Bearer {app.settings.api_key}"

        def _complete(self, body):
            n_tokens = body["max_tokens"]
            request = {"left": n_tokens}
            app.requests.append(request)
            app.lock.notify_all()
            app.lock.wait_for(lambda: not request["left"])
            usage = {"prompt_tokens": 1, "completion_tokens": n_tokens}
            chunks = [{"choices": [{"index": 0, "text": " a", "finish_reason": None}]}] * n_tokens
            chunks += [{"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}]
            chunks += [{"choices": [], "usage": usage}]
            lines = [*map(json.dumps, chunks), "[DONE]"]
            self._answer(200, "".join(f"data: {line}\n\n" for line in lines), "text/event-stream")

        def _answer(self, status, text, kind="text/plain"):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    return Handler


if __name__ == "__main__":
    main()
