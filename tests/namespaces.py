"""Mount namespaces, so that a test has a disk or a /proc file of its own without being root."""

import shutil
import subprocess

WRAPPER = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
"""Words before a shell script that may mount; what it mounts is seen by its children alone."""


def has_namespaces():
    """Whether this machine lets us."""
    if shutil.which("unshare") is None:
        return False
    command = [*WRAPPER, "mount -t tmpfs none /mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0
