"""The cgroups of a worker, in a folder that stands for the kernel's."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tickwork.execute.runners.contained import worker_cgroup
from tickwork.execute.runners.contained.supervisor_main import Cgroup

Offer = Callable[..., Path]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """A cgroup with these controllers, of which some are enabled for those below it."""

    def make(*controllers: str, enabled: str = "") -> Path:
        (tmp_path / "cgroup.controllers").write_text(" ".join(controllers))
        (tmp_path / "cgroup.subtree_control").write_text(enabled)
        (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n1\n")  # others share it
        monkeypatch.setattr(worker_cgroup, "_own_folder", lambda: tmp_path)
        return tmp_path / "cgroup.subtree_control"

    return make


@pytest.mark.parametrize(
    ("controllers", "enabled", "written"),
    [
        (("cpu", "memory", "pids"), "", "+memory +pids"),
        (("cpu", "memory", "pids"), "memory", "+pids"),
        (("memory",), "", "+memory"),  # one that is not offered would fail the other
        (("memory", "pids"), "memory pids", "memory pids"),
        (("cpu",), "", ""),
    ],
)
def test_enables_the_limits_that_are_offered(
    offer: Offer, controllers: tuple[str, ...], enabled: str, written: str
) -> None:
    control = offer(*controllers, enabled=enabled)
    assert worker_cgroup.open_own_cgroup() is not None
    assert control.read_text() == written


def test_groups_that_a_command_has_made_do_not_stop_the_worker(offer: Offer, tmp_path: Path) -> None:
    offer("memory")
    (tmp_path / "tickwork-process-mine").mkdir()
    (tmp_path / "tickwork-process-").mkdir()
    assert worker_cgroup.open_own_cgroup() == str(tmp_path)


def test_the_kernel_is_told_the_number_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_limits(folder: Path, *_: object) -> None:
        os.mkdir(folder)  # noqa: PTH102 (Path.mkdir is this function)
        for name in ("pids.max", "memory.max"):
            (folder / name).write_text("max")
        (folder / "pids.events").write_text("max 0\n")

    monkeypatch.setattr(Path, "mkdir", with_limits)
    group = Cgroup.make(str(tmp_path), None, 20)
    assert group is not None
    (folder,) = tmp_path.iterdir()
    assert (folder / "pids.max").read_text() == "20"
    assert (folder / "memory.max").read_text() == "max"
    assert group.exceeded() is None
    (folder / "pids.events").write_text("max 3\n")
    assert group.exceeded() == "processes"
