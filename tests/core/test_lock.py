import os
import threading

import pytest

from tracekit.errors import StoreError
from tracekit.lock import locked, try_lock


def test_lock_leaves_no_file(tmp_path):
    with locked(tmp_path / "lock"):
        assert (tmp_path / "lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_only_one_holds_the_lock_at_a_time(tmp_path):
    inside, most = [], []

    def work():
        with locked(tmp_path / "lock"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


def test_lock_that_is_never_let_go_is_not_waited_for_without_end(tmp_path):
    with (
        locked(tmp_path / "lock"),
        pytest.raises(StoreError, match="another ingest holds it"),
        locked(tmp_path / "lock", timeout_s=0.1),
    ):
        pass


def test_lock_of_a_removed_file_is_no_lock(tmp_path):
    path = tmp_path / "lock"
    first = try_lock(path)
    path.unlink()
    second = try_lock(path)
    assert second is not None
    assert try_lock(path) is None
    os.close(first)
    assert try_lock(path) is None
    os.close(second)


def test_error_inside_lets_the_lock_go(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path / "lock"):
        raise KeyError
    with locked(tmp_path / "lock", timeout_s=0):
        assert (tmp_path / "lock").exists()
