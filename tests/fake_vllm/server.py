"""The HTTP side: health, metrics, completions, and the profiler's two routes."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fake_vllm.engine import EOS_AFTER, Request
from fake_vllm.profiler import AlreadyActiveError


class Server(ThreadingHTTPServer):
    """Binds when made, as vLLM does before it loads the model; `server_activate` listens."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, app):
        self.app = app
        address = (app.settings.host, app.settings.port)
        super().__init__(address, Handler, bind_and_activate=False)
        self.server_bind()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        app = self.server.app
        match self.path:
            case "/health":
                sick = app.engine.is_dead or "health-503" in app.faults
                self._answer(503 if sick else 200, "")
            case "/metrics":
                self._answer(200, app.engine.counters.text(), "text/plain; version=0.0.4")
            case "/version":
                self._answer(200, {"version": app.generation.version})
            case "/v1/models":
                model = {"id": app.settings.served, "object": "model", "root": app.settings.model}
                model |= {"max_model_len": app.settings.max_model_len, "owned_by": "vllm"}
                self._guarded(lambda: self._answer(200, {"object": "list", "data": [model]}))
            case _:
                self._answer(404, {"detail": "Not Found"})

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or "{}")
        match self.path:
            case "/v1/completions" | "/v1/chat/completions":
                self._guarded(lambda: self._complete(body))
            case "/start_profile" if self._has_profiler():
                self._start_profile(body)
            case "/stop_profile" if self._has_profiler():
                self._stop_profile()
            case _:
                self._answer(404, {"detail": "Not Found"})

    def _has_profiler(self):
        app = self.server.app
        return app.settings.profiler is not None and "start-profile-404" not in app.faults

    def _start_profile(self, body):
        app = self.server.app
        app.log("INFO", "Starting profiler...")
        time.sleep(app.faults.number("start-profile-slow", 0))
        if "start-profile-500" in app.faults:
            self._answer(500, app.faults["start-profile-500"] or "Internal Server Error")
            return
        for _ in range(int(app.faults.number("chatty", 0))):
            app.log("INFO", "x" * 1000)
        try:
            app.profiler.start(body)
        except AlreadyActiveError:
            self._answer(409, {"error": {"message": "Profiler is already active.", "code": 409}})
        else:
            app.log("INFO", "Profiler started.")
            self._answer(200, "")

    def _stop_profile(self):
        app, faults = self.server.app, self.server.app.faults
        app.log("INFO", "Stopping profiler...")
        time.sleep(faults.number("stop-profile-slow", 0))
        while "stop-profile-never" in faults:
            time.sleep(1)
        if "stop-profile-500" in faults:
            self._answer(500, "Internal Server Error")
            return
        if "stop-profile-hangup" in faults:
            self.close_connection = True
            self.connection.shutdown(2)
            app.profiler.stop()
            return
        app.profiler.stop()
        app.log("INFO", "Profiler stopped.")
        self._answer(200, "")

    def _guarded(self, answer):
        keys = self.server.app.settings.api_keys
        if keys and self.headers.get("Authorization") not in [f"Bearer {key}" for key in keys]:
            self._answer(401, {"error": "Unauthorized"})
        else:
            answer()

    def _complete(self, body):
        app = self.server.app
        app.n_requests += 1
        is_late = app.n_requests > app.faults.number("request-500", 1e9)
        prompt = body.get("prompt") or " ".join(str(m["content"]) for m in body["messages"])
        n_prompt = len(prompt if isinstance(prompt, list) else prompt.split())
        wanted = body.get("max_tokens") or body.get("max_completion_tokens") or 16
        if body.get("model") != app.settings.served:
            message = f"The model `{body.get('model')}` does not exist."
            self._answer(404, {"error": {"message": message, "code": 404}})
        elif n_prompt + wanted > app.settings.max_model_len:
            message = f"This model's maximum context length is {app.settings.max_model_len} tokens."
            self._answer(400, {"error": {"message": message, "code": 400}})
        elif is_late or app.engine.is_dead:
            message = app.faults.get("request-500-text", "EngineCore encountered an issue.")
            self._answer(500, {"error": {"message": message}})
        else:
            n_tokens = wanted if body.get("ignore_eos") else min(wanted, EOS_AFTER)
            request = Request(n_prompt, n_tokens)
            app.engine.submit(request)
            self._send_tokens(request, body)

    def _send_tokens(self, request, body):
        if not body.get("stream"):
            outs = list(iter(request.out.get, None))
            usage = _usage(request.n_prompt, sum(outs))
            self._answer(200, self._chunk(" tok" * sum(outs), "length") | {"usage": usage})
            return
        self._head(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        n_sent = 0
        while (n := request.out.get()) is not None:
            if isinstance(n, RuntimeError) or self._is_broken():
                self._event({"error": {"message": "EngineCore encountered an issue."}})
                break
            n_sent += n
            self._event(self._chunk(" tok" * n, None))
        else:
            self._event(self._chunk("", "length"))
            if (body.get("stream_options") or {}).get("include_usage"):
                usage = _usage(request.n_prompt, n_sent)
                self._event(self._chunk(None, None) | {"choices": [], "usage": usage})
        self._event("[DONE]")
        self._write_chunk(b"")

    def _is_broken(self):
        app = self.server.app
        return app.n_requests > app.faults.number("stream-error", 1e9)

    def _chunk(self, text, reason):
        is_chat = "chat" in self.path
        choice = {"index": 0, "finish_reason": reason}
        choice |= {"delta": {"content": text}} if is_chat else {"text": text}
        kind = "chat.completion.chunk" if is_chat else "text_completion"
        model = self.server.app.settings.served
        return {"id": "cmpl-0", "object": kind, "created": 0, "model": model, "choices": [choice]}

    def _event(self, data):
        text = data if isinstance(data, str) else json.dumps(data)
        self._write_chunk(f"data: {text}\n\n".encode())

    def _write_chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _answer(self, status, body, kind="application/json"):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self._head(status, kind, {"Content-Length": str(len(data))})
        self.wfile.write(data)

    def _head(self, status, kind, headers):
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, text, *values):
        line = text % values
        self.server.app.write(f"INFO:     127.0.0.1:{self.client_address[1]} - {line}")


def _usage(n_prompt, n_tokens):
    total = n_prompt + n_tokens
    return {"prompt_tokens": n_prompt, "completion_tokens": n_tokens, "total_tokens": total}
