"""Folders of runs, as `tracekit capture` or people lay them out."""

import json

TRACE = json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": []})
METRICS = "# HELP up Whether it is.\n# TYPE up gauge\nup 1.0\n"


def lay_out(folder, files):
    """Write `files` ({path: text}) below `folder`."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder
