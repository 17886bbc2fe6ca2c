"""The worker's own cgroup (version 2), if the worker may make others in it: one for each process that it contains.

A service of systemd may with `Delegate=yes`. The kernel gives limits only to groups below one without processes of its
own, so the worker moves itself to a group beside them, unless others share its group.
"""

import os
from contextlib import suppress
from pathlib import Path

_PROCESS_PREFIX = "tickwork-process-"
_WORKER = "tickwork-worker"
_CONTROLLERS = ("memory", "pids")


def open_own_cgroup() -> str | None:
    """The folder to make cgroups in, or None. Ends what a worker that was killed has left there."""
    folder = _own_folder()
    if folder is None or not _can_make_groups(folder):
        return None
    end_orphans(folder)
    with suppress(OSError):
        _enable_limits(folder)
    return str(folder)


def _own_folder() -> Path | None:
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    own = next((line.removeprefix("0::") for line in groups if line.startswith("0::")), None)
    for mount in mounts:
        place, _, source = mount.partition(" - ")
        if own is not None and source.startswith("cgroup2 "):
            root, folder = place.split()[3:5]
            path = Path(own)
            return Path(folder) / (
                path.relative_to(root) if path.is_relative_to(root) else path.relative_to("/")
            )
    return None


def _can_make_groups(folder: Path) -> bool:
    probe = folder / f"tickwork-probe-{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True


def end_orphans(folder: Path) -> None:
    """End the processes of supervisors that are dead."""
    for group in folder.glob(f"{_PROCESS_PREFIX}*"):
        pid = group.name.removeprefix(_PROCESS_PREFIX)
        if pid.isdecimal() and not _is_alive(int(pid)):  # a command may have made others beside its own
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
                group.rmdir()


def _is_alive(pid: int) -> bool:
    """A dead process that its parent has not waited for yet counts as dead."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


def _enable_limits(folder: Path) -> None:
    offered = (folder / "cgroup.controllers").read_text().split()
    enabled = (folder / "cgroup.subtree_control").read_text().split()
    missing = [name for name in _CONTROLLERS if name in offered and name not in enabled]
    if not missing:
        return
    if (folder / "cgroup.procs").read_text().split() == [str(os.getpid())]:
        worker = folder / _WORKER
        worker.mkdir(exist_ok=True)
        (worker / "cgroup.procs").write_text(str(os.getpid()))
    (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in missing))
