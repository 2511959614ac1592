"""Stands in for tools of the system: shell scripts on a PATH that has nothing else but a shell."""

from pathlib import Path

NVIDIA_SMI = r"""
case "$*" in
*"persistence_mode --format=csv,noheader")
    echo "NVIDIA H100, 550.54, Enabled"
    echo "NVIDIA H100, 550.54, Enabled" ;;
"topo -m")
    echo "        GPU0  GPU1"
    echo "GPU0     X    PIX" ;;
*"--format=csv,nounits -l 1")
    echo $$ > "$PIDS"
    echo "$*"
    while :; do echo "2026/01/02 03:04:05.678 $TZ, 0"; sleep 0.01; done ;;
*"--format=csv,nounits")
    for known in $FIELDS; do
        case "$*" in *$known*) echo "timestamp, index"; exit 0 ;; esac
    done
    echo 'Field "x" is not a valid field to query.'; exit 2 ;;
*)
    echo "index, name, driver_version"
    echo "0, NVIDIA H100, 550.54"
    echo "1, NVIDIA H100, 550.54" ;;
esac
"""

HANGING = 'echo $$ > "$PIDS"; sleep 1000 & wait'
FAILING = "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18"
GARBAGE = r"printf '\377\376\000,\n,,,\nx\n\001\033[31m'"


class FakeTools:
    """`folder` is the PATH; `pids` has the process id of a script that does not end by itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pids = folder / "pids"
        for tool in ("sh", "sleep"):
            (folder / tool).symlink_to(f"/bin/{tool}")

    def put(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def is_running(self) -> bool:
        """Whether the process that wrote its id is there, and is no zombie."""
        stat = Path(f"/proc/{self.pids.read_text().strip()}/stat")
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
