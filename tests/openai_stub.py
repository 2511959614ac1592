"""A small OpenAI server in this process that streams, and misbehaves as it is told."""

import contextlib
import json
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROMPT_TOKENS = 7


class Stub(ThreadingHTTPServer):
    """Answers by `answer(handler, body)`; keeps what it was asked and how many at once."""

    daemon_threads = True

    def __init__(self, answer=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer or stream
        self.asked = []
        self.headers = []
        self.released = threading.Event()  # ends what waits in `hang`
        self.seen = threading.Event()
        self.broken = threading.Event()  # the client closed the connection of a `hang`
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        self.server.headers.append(dict(self.headers))
        self.server.seen.set()
        with contextlib.suppress(ConnectionError):
            self.server.answer(self, body)

    def log_message(self, *args):
        pass

    def begin(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


@contextlib.contextmanager
def serving(answer=None):
    with Stub(answer) as stub:
        thread = threading.Thread(target=stub.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield stub
        finally:
            stub.released.set()
            stub.shutdown()
            thread.join()


def event(data):
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def chunk(text="a"):
    return event({"choices": [{"index": 0, "text": text, "delta": {"content": text}}]})


def usage(n_tokens):
    counts = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": n_tokens}
    return event({"choices": [], "usage": counts})


def stream(handler, body, burst=3, text="a"):
    """All tokens asked for, `burst` events at a time, the usage, the end."""
    handler.begin()
    n = body["max_tokens"]
    for first in range(0, n, burst):
        handler.send(b": ping\n\n" + chunk(text) * min(burst, n - first))
    handler.send(usage(n) + b"data: [DONE]\n\n")
    handler.send(b"")


def begun(handler, then):
    """Two tokens, then what else is sent, then the end of the answer."""
    handler.begin()
    handler.send(chunk() * 2)
    handler.send(then)
    handler.send(b"")


def refuse(handler, code, content):
    handler.send_response(code)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def reset(handler, body):
    """Breaks the connection in the middle of the stream."""
    handler.begin()
    handler.send(chunk())
    linger = struct.pack("ii", 1, 0)  # close by RST
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.close_connection = True
    handler.wfile.close()
    handler.rfile.close()
    handler.connection.close()


def hang(handler, body):
    """Some tokens, then nothing until the client goes or the stub ends."""
    handler.begin()
    handler.send(chunk())
    handler.connection.settimeout(0.02)
    while not handler.server.released.is_set():
        with contextlib.suppress(TimeoutError):
            if not handler.connection.recv(1):
                handler.server.broken.set()
                handler.close_connection = True
                return
