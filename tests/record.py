"""`tracekit capture` that ends once the run is recorded, for tests of what is recorded alone.

To read the run and to print its page takes two thirds of the time of a capture of a stand-in.
"""

from tracekit.cli import capture, main


def nothing(*_):
    """In place of what follows the recording."""


capture._ingest = nothing
capture.capture_page.show = nothing

if __name__ == "__main__":
    main(prog_name="tracekit")
