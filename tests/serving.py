"""A server of somebody else's: started before a capture, and left as it is by it."""

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx


@contextmanager
def serving(words, port, health="/health", **more):
    """Runs the command as long as the block, which begins when the server is healthy."""
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(words, start_new_session=True, **more)
    try:
        while not is_healthy(url + health):
            assert process.poll() is None
            time.sleep(0.05)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


@contextmanager
def all_serving(servers):
    """Runs several such side by side, all started at once: their URLs."""
    with ExitStack() as running, ThreadPoolExecutor(len(servers)) as pool:
        yield list(pool.map(running.enter_context, servers))


def is_healthy(address):
    try:
        # Unless it need not verify, each call reads all certificates: 16 ms of the CPU.
        return httpx.get(address, trust_env=False, verify=False).is_success
    except httpx.TransportError:
        return False
