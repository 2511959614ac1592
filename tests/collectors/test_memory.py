"""How much memory is left, under limits of both kinds of control groups."""

import threading

import pytest

from tracekit.collectors.context.memory import MemoryWatch, memory_room, memory_rooms

GB = 10**9
NO_LIMIT = 9223372036854771712


@pytest.fixture
def root(tmp_path):
    """The files of a machine of 100 GB with 60 GB left."""
    write(
        tmp_path,
        "proc/meminfo",
        f"MemTotal: {100 * GB // 1024} kB\nMemAvailable: {60 * GB // 1024} kB\n",
    )
    return tmp_path


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(text))


def group(root, folder, limit, used, version=2, reclaimable=0):
    names = ("memory.max", "memory.current", "inactive_file") if version == 2 else (
        "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")  # fmt: skip
    for name, value in zip(names, (limit, used), strict=False):
        write(root, f"{folder}/{name}", f"{value}\n")
    write(root, f"{folder}/memory.stat", f"anon 5\n{names[2]} {reclaimable}\n")


def left(root):
    return {room.source: round(room.left_bytes / GB, 3) for room in memory_rooms(root)}


def test_without_control_groups(root):
    assert left(root) == {"MemAvailable": 60.0}
    assert str(memory_room(root)) == "60.0 of 100.0 GB left (MemAvailable)"


def test_version_2_with_a_limit_around_the_group(root):
    write(root, "proc/self/cgroup", "0::/a/b\n")
    group(root, "sys/fs/cgroup/a/b", "max", 5 * GB)
    group(root, "sys/fs/cgroup/a", 20 * GB, 18 * GB, reclaimable=GB)
    path = str(root / "sys/fs/cgroup/a/memory.max")
    assert left(root) == {"MemAvailable": 60.0, path: 3.0}
    assert memory_room(root).source == path


def test_within_a_container_the_mount_is_the_group(root):
    write(root, "proc/self/cgroup", "0::/docker/123\n")
    group(root, "sys/fs/cgroup", 8 * GB, 2 * GB)
    assert memory_room(root).left_bytes == 6 * GB


def test_version_1(root):
    write(root, "proc/self/cgroup", "5:cpu:/x\n4:memory:/slurm/job\n0::/\n")
    group(root, "sys/fs/cgroup/memory/slurm/job", 30 * GB, 10 * GB, version=1, reclaimable=GB)
    group(root, "sys/fs/cgroup/memory", NO_LIMIT, 40 * GB, version=1)
    assert sorted(left(root).values()) == [21.0, 60.0]


@pytest.mark.parametrize("text", ["", "garbage", "0::", "::::\n0::/../../..\n", "4:memory"])
def test_garbage_is_no_limit(root, text):
    write(root, "proc/self/cgroup", text)
    assert left(root) == {"MemAvailable": 60.0}


def test_a_system_that_tells_nothing(tmp_path):
    assert memory_room(tmp_path) is None


def test_the_reserve_is_a_twentieth_within_bounds(root):
    assert memory_room(root).reserve_bytes == 5 * GB
    write(root, "proc/meminfo", "MemTotal: 4000000000 kB\nMemAvailable: 4000000000 kB\n")
    assert memory_room(root).reserve_bytes == 8 * GB


def test_the_watch_calls_once_when_memory_runs_out(root):
    called, rooms = threading.Event(), []

    def on_low(room):
        rooms.append(room)
        called.set()

    with MemoryWatch(on_low, poll_s=0.005, root=root) as watch:
        assert not called.wait(0.05)
        assert watch.low is None
        write(root, "proc/meminfo", f"MemTotal: {100 * GB // 1024} kB\nMemAvailable: 1 kB\n")
        assert called.wait(10)
    assert rooms == [watch.low]
    assert watch.low.source == "MemAvailable"


def test_a_reserve_of_the_users_own(root):
    called = threading.Event()
    with MemoryWatch(lambda _: called.set(), reserve_bytes=70 * GB, root=root):
        assert called.wait(10)


def test_the_watch_ends_at_once(root):
    with MemoryWatch(lambda _: None, poll_s=1000.0, root=root) as watch:
        pass
    assert not watch._thread.is_alive()
