"""Streamlit's own page, scripts, styles and fonts, served from memory."""

import mimetypes
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

ROOT = Path(st.__file__).with_name("static")

VIEWS = [f"/{path.stem}" for path in Path(__file__).with_name("views").glob("[a-z]*.py")]
"""Where Streamlit's page is: it looks at its own address for which view to show."""

FOR_GOOD, NOT_UNASKED = "public, immutable, max-age=31536000", "no-cache"
"""What a browser is told of files whose names are made anew with what is in them, and of others."""

STYLES = "/static/css/index."
"""Streamlit's style sheet. Ours goes behind it: as an element of the page it takes 0.1 s a view."""


PAGE = "/index.html"

CLIENT = """<script>window.__streamlit = {
    BACKEND_BASE_URL: new URL('.', location.href).href,
    HOST_CONFIG: {allowedOrigins: [location.origin], useExternalAuthToken: false},
}</script>"""
"""What Streamlit's client would find out by asking, where it can be told: below which address the
server is, of which it first tries that of the view, and that no other page may speak to it.
"""


class Assets:
    """Answers for these files at once; all else is for the application below.

    From the disk each takes several turns of other threads, and a page has 150: while a view runs
    and holds the interpreter, its scripts wait.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        paths = (ROOT / "static").rglob("*")
        files = (f"/{path.relative_to(ROOT).as_posix()}" for path in paths if path.is_file())
        self._files = {path: path for path in files} | dict.fromkeys(["/", *VIEWS], PAGE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = self._files.get(scope["path"]) if scope["type"] == "http" else None
        await (self._app if path is None else _file(path))(scope, receive, send)


@cache
def _file(path: str) -> Response:
    kind, _ = mimetypes.guess_type(path)
    data = (ROOT / path[1:]).read_bytes()
    caching = FOR_GOOD if path.startswith("/static/") else NOT_UNASKED
    if path.startswith(STYLES):
        data, caching = data + Path(__file__).with_name("focus.css").read_bytes(), NOT_UNASKED
    elif path == PAGE:
        data = data.replace(b"<head>", b"<head>" + CLIENT.encode(), 1)
    return Response(data, headers={"Cache-Control": caching}, media_type=kind)
