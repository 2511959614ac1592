import pytest
from model_folders import LLAMA, llama_shapes, tokens, write_model

from tracekit.draft_check import check_draft


class Folders:
    """A target that is all right, and drafts to check against it."""

    def __init__(self, folder):
        self.folder = folder
        self.target = write_model(folder / "target", LLAMA, llama_shapes(), tokens(100))

    def draft(self, config, shapes=None, names=None, folder="small"):
        return write_model(self.folder / folder, config, shapes, names)

    def verdict(self, method, draft, target=None):
        found = check_draft(target or self.target, draft).verdicts
        return next(row for row in found if row.method == method)

    def check(self, topic, draft, target=None):
        found = check_draft(target or self.target, draft).checks
        return next(row for row in found if row.topic == topic)


@pytest.fixture
def folders(tmp_path):
    return Folders(tmp_path)
