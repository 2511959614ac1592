"""The dashboard's web server, which has loaded what a view needs before a browser asks for one.

Usage: python -m tracekit.app.server SETTINGS, Streamlit's options as a JSON object
"""

import asyncio
import json
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pandas as pd
import streamlit as st
import uvicorn
from altair.utils import schemapi
from starlette.middleware import Middleware
from streamlit import config

from tracekit.app.assets import Assets
from tracekit.app.charts.plain import plain
from tracekit.errors import TracekitError

MAIN = Path(__file__).with_name("main.py")

Setting = str | int | bool | list[str]

ANYWHERE = ("0.0.0.0", "::")
"""Addresses to listen on that no browser can go to."""

SWITCH_S = 0.0005
"""How long a running view keeps the server from answering for its scripts: a tenth of Python's."""

LEAVING_S = 1
"""Seconds that open pages get once the server is to end."""


class Server(uvicorn.Server):
    """Uvicorn, which opens a browser as soon as it answers."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then open the page unless the server is told to be headless."""
        await super().startup(sockets)
        if self.started and not config.get_option("server.headless"):
            host = "localhost" if self.config.host in ANYWHERE else self.config.host
            webbrowser.open(f"http://{host}:{self.config.port}")


def serve(settings: Mapping[str, Setting]) -> None:
    """Run the dashboard with these options of Streamlit until it is interrupted."""
    sys.setswitchinterval(SWITCH_S)
    schemapi.disable_debug_mode()  # of a chart's parts each is checked, then the whole once more
    for name, value in settings.items():
        config.set_option(name, value)
    # Not `streamlit run`: of the socket it binds, asyncio does not know that it is TCP and leaves
    # Nagle's algorithm on, which holds back each of a page's 60 files and its last message 40 ms.
    server = Server(
        uvicorn.Config(
            st.App(MAIN, lifespan=_warmed, middleware=[Middleware(Assets)]),
            host=str(settings["server.address"]),
            port=int(str(settings["server.port"])),
            log_level="warning",
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=LEAVING_S,
        )
    )
    with suppress(KeyboardInterrupt):
        server.run()


@asynccontextmanager
async def _warmed(_app: st.App) -> AsyncIterator[None]:
    """What the first view asks is on its way when the server starts to answer."""
    plain(pd.DataFrame({"x": [0]}), "x", "x", None, "bar").to_dict()  # Altair loads its schema
    asking = asyncio.create_task(asyncio.to_thread(_ask))
    yield
    await asking


def _ask() -> None:
    from tracekit.app import data  # its caches are the server's only where that is there first

    with suppress(TracekitError), data.held_open():  # the view tells what is wrong
        for row in data.rows("run_list")[:1]:
            data.summarized(row.run)
            data.found_late(row.run)
        data.rows("run_headline")


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
