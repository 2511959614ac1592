"""Streamlit's own scripts and fonts, served from memory."""

import mimetypes
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

ROOT = Path(st.__file__).with_name("static")

FOR_GOOD = "public, immutable, max-age=31536000"
"""What a browser is told of files whose names are made anew with what is in them."""


class Assets:
    """Answers for these files at once; all else is for the application below.

    From the disk each takes several turns of other threads, and a page has 150: while a view runs
    and holds the interpreter, its scripts wait.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        paths = (ROOT / "static").rglob("*")
        self._there = {f"/{path.relative_to(ROOT).as_posix()}" for path in paths if path.is_file()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_there = scope["type"] == "http" and scope["path"] in self._there
        await (_file(scope["path"]) if is_there else self._app)(scope, receive, send)


@cache
def _file(path: str) -> Response:
    kind, _ = mimetypes.guess_type(path)
    headers = {"Cache-Control": FOR_GOOD}
    return Response((ROOT / path[1:]).read_bytes(), headers=headers, media_type=kind)
