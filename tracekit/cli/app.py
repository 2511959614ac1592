"""tracekit app: the dashboard in a browser."""

import errno
import json
import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from tracekit.cli import options, output
from tracekit.errors import AppError, StoreError

SETTINGS = {
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.toolbarMode": "viewer",
    "runner.magicEnabled": False,
    "server.fileWatcherType": "none",
    "server.showEmailPrompt": False,
}
"""Of Streamlit: it sends nothing, watches no files, asks nothing, and shows no stray strings."""

LOOK = {
    "theme.baseFontSize": 15,
    "theme.headingFontSizes": ["1.9rem", "1.4rem", "1.2rem"],
    "theme.metricValueFontSize": "1.5rem",
    "theme.paddingTop": "0.5rem",
    "theme.paddingBottom": "3rem",
    "theme.light.primaryColor": "#0a4fa0",
    "theme.dark.primaryColor": "#4d8fff",
}
"""Sizes that leave room for charts on 1280 x 800, and a colour for what can be pressed."""


OF_PORT = (errno.EADDRINUSE, errno.EACCES)
"""Errors where another port of the same host may do."""


@click.command("app")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8501,
    show_default=True,
    help="Port to listen on.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@options.db()
def command(host: str, port: int, no_browser: bool, db: str | None) -> None:
    """Open the dashboard in a browser.

    It reads the database and never writes it; runs ingested meanwhile appear with the next click.
    """
    from tracekit.database import DATABASE_VARIABLE, default_database

    _check_extra()
    _check_free(host, port)
    settings = {
        **SETTINGS,
        **LOOK,
        "server.address": host,
        "server.port": port,
        "server.headless": no_browser,
    }
    _warn(default_database(db))
    output.note(f"{default_database(db)}: dashboard at http://{host}:{port}, until Ctrl-C")
    environment = {**os.environ, DATABASE_VARIABLE: str(default_database(db).absolute())}
    server = [sys.executable, "-P", "-m", "tracekit.app.server", json.dumps(settings)]
    os.execve(sys.executable, server, environment)


def _check_extra() -> None:
    if find_spec("streamlit") is None:
        raise AppError(
            "app: streamlit is not installed, which shows it; pip install 'tracekit-llm[app]'"
        )


def _check_free(host: str, port: int) -> None:
    """Streamlit would tell of a taken port only after it has started."""
    try:
        family, kind, proto, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        option = "--port" if error.errno in OF_PORT else "--host"
        raise AppError(
            f"{host or repr(host)}:{port}: cannot listen there ({error.strerror}); "
            f"choose another with {option}"
        ) from error


def _warn(db: Path) -> None:
    """Say what is wrong with the database; it may come, so the dashboard runs."""
    from tracekit import store

    try:
        store.open_readonly(db).close()
    except StoreError as error:
        output.note(str(error))
