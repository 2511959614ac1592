"""Runs a script as `tracekit capture --engine torch` does, with the stand-in for torch."""

import gzip
import json
import os
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tracekit.collectors.engines.torch_run import Torch, record_script
from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.process.signals import Signals
from tracekit.collectors.recording import recording
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

FAKE_TORCH = Path(__file__).parent / "fake_torch"
TRAIN = """
    import torch
    model, optimizer = torch.nn.Module(), torch.optim.Optimizer()
    for _ in range({steps}):
        model(1)
        optimizer.step()
"""


class Silent:
    """A report that keeps the lines that stay."""

    def __init__(self):
        self.notes = []

    def stage(self, text):
        pass

    def detail(self, text):
        pass

    def note(self, text):
        self.notes.append(text)


@dataclass
class Script:
    """A script to be recorded into `folder`; `error` is what came of it."""

    folder: RunFolder
    error: CaptureError | None = None
    steps: int = 3

    def record(self, code, *, command=(sys.executable,), env=None):
        """Run `code` to its end."""
        path = self.folder.path.parent / "script.py"
        path.write_text(textwrap.dedent(code))
        environment = {**os.environ, "PYTHONPATH": str(FAKE_TORCH), **(env or {})}
        options = ProfileOptions(steps=self.steps)
        launch = Torch().launch([*command, str(path)], environment, options, self.folder)
        self.error, report, signals = None, Silent(), Signals()
        try:
            with signals.handled(), recording(self.folder, {}) as recorded:
                record_script(launch, {**environment, **launch.env}, recorded, report, signals)
        except CaptureError as error:
            self.error = error
        return self

    def steps_of(self, rank=0):
        """Names of the steps in a rank's trace; None where it wrote none."""
        path = self.folder.traces / f"rank{rank}.pt.trace.json.gz"
        if not path.exists():
            return None
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        return [event["name"] for event in events if event["cat"] == "user_annotation"]

    @property
    def run_json(self):
        return json.loads(self.folder.run_json.read_text())

    @property
    def log(self):
        return (self.folder.path / "logs" / "script.log").read_text()
