"""The programs that the failover harness runs, from Debian's packages."""

import os
import shutil
from pathlib import Path

POSTGRES = Path("/usr/lib/postgresql/15/bin")
PACKAGES = ("patroni", "etcd-server", "haproxy", "postgresql-15")
_PROGRAMS = {"patroni": "patroni", "etcd-server": "etcd", "haproxy": "haproxy"}


def why_not() -> str | None:
    """Why the harness cannot run here; None if it can."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"
    absent = [package for package, program in _PROGRAMS.items() if not shutil.which(program, path=path)]
    if not (POSTGRES / "pg_ctl").exists():
        absent.append("postgresql-15")
    if absent:
        return f"Debian packages are absent: {', '.join(absent)}"
    if os.geteuid() != 0:
        return "Patroni and PostgreSQL are started as the user postgres, which only root can do"
    return None


def program(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")
    assert found, f"{name} is not installed"
    return found
