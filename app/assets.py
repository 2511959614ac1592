"""Streamlit's own scripts, styles and fonts, served from memory."""

import mimetypes
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ROOT = Path(st.__file__).with_name("static")

FOR_GOOD = "public, immutable, max-age=31536000"
"""What a browser is told of files whose names are made anew with what is in them."""


CHARTS = tuple(
    f"/static/js/{name}."
    for name in ("ArrowVegaLiteChart", "loadVegaEmbed", "embed", "vega-interpreter", "DataFrame")
)
"""Scripts that Streamlit asks for where it meets the first chart or table."""

STYLES = "/static/css/index."
"""Streamlit's style sheet. Ours goes behind it: as an element of the page it takes 0.1 s a view."""


class Assets:
    """Answers for these files at once; all else is for the application below.

    From the disk each takes several turns of other threads, and a page has 150: while a view runs
    and holds the interpreter, its scripts wait.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        paths = (ROOT / "static").rglob("*")
        self._there = {f"/{path.relative_to(ROOT).as_posix()}" for path in paths if path.is_file()}
        scripts = [path for path in self._there if path.startswith(CHARTS)]
        links = (f"<{path}>; rel=modulepreload; crossorigin" for path in sorted(scripts))
        self._links = ", ".join(links).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def linked(message: Message) -> None:
            """A page is told the scripts of charts at once, for the browser to load meanwhile."""
            if message["type"] == "http.response.start" and _is_page(message):
                message["headers"].append((b"link", self._links))
            await send(message)

        is_there = scope["type"] == "http" and scope["path"] in self._there
        await (_file(scope["path"]) if is_there else self._app)(scope, receive, linked)


def _is_page(answer: Message) -> bool:
    return any(
        name == b"content-type" and kind.startswith(b"text/html")
        for name, kind in answer["headers"]
    )


@cache
def _file(path: str) -> Response:
    kind, _ = mimetypes.guess_type(path)
    data = (ROOT / path[1:]).read_bytes()
    if path.startswith(STYLES):
        ours = Path(__file__).with_name("focus.css").read_bytes()
        return Response(data + ours, headers={"Cache-Control": "no-cache"}, media_type=kind)
    return Response(data, headers={"Cache-Control": FOR_GOOD}, media_type=kind)
