"""Runs the generator once for all its tests."""

import csv
import gzip
import json
from decimal import Decimal

import pytest
from generated import GENERATE, dialects, generate

STORY = ("story_baseline", "story_eagle3")


class Folder:
    """A generated run folder: its truth, and its files read the slow and exact way."""

    def __init__(self, path):
        self.path = path

    def truth(self, name):
        with (self.path / "truth" / f"{name}.csv").open() as file:
            return list(csv.DictReader(file))

    def catalogue(self):
        """Names the generator can emit."""
        text = (GENERATE.parent / "generator" / "kernels.tsv").read_text()
        return {line.split("\t")[3] for line in text.splitlines()} - {"name"}

    def traces(self):
        paths = sorted((self.path / "traces").iterdir())
        return [json.loads(gzip.decompress(p.read_bytes()), parse_float=Decimal) for p in paths]


def folders(out):
    return {path.name: Folder(path) for path in out.iterdir()}


@pytest.fixture(scope="session")
def runs(tmp_path_factory, generated, names):
    """Every dialect by name; the story's two with two ranks and steps, to be read in full."""
    small = tmp_path_factory.mktemp("generated")
    generate(small, *(f"--dialect={name}" for name in STORY), "--ranks=2", "--steps=2")
    found = folders(small)
    for name in names:
        if name not in STORY:
            found |= folders(generated.written(name))
    return found


@pytest.fixture(scope="session")
def stories(generated):
    """The story's two runs in full, by name."""
    return {name: run for story in STORY for name, run in folders(generated.written(story)).items()}


@pytest.fixture(scope="session")
def names():
    """Names of all dialects."""
    return list(dialects())


@pytest.fixture(scope="session", name="generate")
def generator():
    """The generator: (folder, *arguments) -> what it prints."""
    return generate
