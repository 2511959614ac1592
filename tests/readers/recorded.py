"""What is recorded beside traces, written by a test and read into a database of its own."""

import json
from pathlib import Path

from tracekit.readers.folder import files_at
from tracekit.readers.windows import read_windows
from tracekit.run import RunInput


class Folder:
    """A run folder without traces; `windows` of its run.json say which file is of which."""

    def __init__(self, path: Path, con):
        self.path, self.con = path, con

    def write(self, files, windows=None, **members):
        """Write `files` ({path: text}) and, with `windows`, a run.json; give what they are."""
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        if windows is not None:
            said = {"format": 1, "windows": windows, **members}
            (self.path / "run.json").write_text(json.dumps(said))
        found = [
            file.__class__(file.path, str(file.path.relative_to(self.path)), file.kind, file.bytes)
            for file in files_at(self.path)
        ]
        return RunInput("r", str(self.path), (), tuple(found))

    def read(self, reader, kind, files, windows=None, **members):
        """Read the files of a kind with `reader`."""
        inputs = self.write(files, windows, **members)
        found = read_windows(self.con, inputs)
        reader(self.con, inputs.of_kind(kind), found, run="r")

    def rows(self, query):
        return self.con.sql(query).fetchall()

    def losses(self):
        return dict(self.rows("SELECT reason, skipped FROM ledger ORDER BY reason"))
