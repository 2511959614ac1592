import os

running = []


class profile:
    def _prepare_trace(self):
        if running:
            raise RuntimeError("Profiler is already enabled on this thread")
        running.append(self)


class record_function:
    """Ends the process where torch would write into freed memory."""

    def __init__(self, name):
        self.name = name
        self.run_callbacks_on_exit = True

    def __enter__(self):
        self.profiler = running[-1] if running else None
        return self

    def __exit__(self, *error):
        if self.run_callbacks_on_exit and self.profiler and running not in ([], [self.profiler]):
            os.abort()
