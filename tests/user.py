"""A user at a terminal, who has an engine and tracekit installed."""

import os
import subprocess
import sys
from pathlib import Path

import tracekit

TIMEOUT_S = 400


class User:
    """Types commands in a folder; `engine` is the folder of an engine's programs."""

    def __init__(self, folder, engine, **env):
        self.folder = folder
        programs = [str(engine), str(Path(sys.executable).parent), os.environ["PATH"]]
        self.env = os.environ | env | {"PATH": os.pathsep.join(programs)}

    def start(self, words, **env):
        """In a session of its own, as each terminal is."""
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=self.env | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, words, code=0, **env):
        """What it printed; it has to end with the exit code."""
        process = self.start(words, **env)
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.terminate()  # a capture then ends its server
        assert process.returncode == code, err
        return subprocess.CompletedProcess(words, code, out, err)

    def runs(self):
        """Name and ranks of each run in the database."""
        db = tracekit.open(self.folder / "tracekit.duckdb")
        return db.sql("SELECT run, n_ranks FROM runs ORDER BY run").fetchall()
