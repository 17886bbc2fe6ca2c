"""Which programs a worker runs: the patterns of its own list, matched with the first word of a command.

A pattern without a slash matches programs by name, which the worker looks up in its own PATH. A pattern with a slash
matches absolute paths. A star matches any characters but a slash, a question mark one. Only the program is matched, as
the job writes it: symbolic links are not followed, and an allowed program takes any arguments.

Shells, interpreters and programs that start others can run anything. Only a pattern that names one without a star
allows it.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated

from msgspec import Meta

_ABSOLUTE = "such as /usr/local/bin/backup-db, or only backup-db to look it up in the worker's PATH"
_LONGEST = 1024
MOST_PATTERNS = 100
Pattern = Annotated[str, Meta(min_length=1, max_length=_LONGEST)]

_RUNS_ANYTHING = re.compile(
    r"(ba|da|a|z|k|mk|pdk|c|tc|fi|r|rba|po?)?sh|pwsh|busybox|toybox"
    r"|(python|pypy|perl|ruby|node|nodejs|php|lua|luajit|tclsh|wish|Rscript|R|java|jshell|deno|bun|guile|julia)[0-9.]*"
    r"|dotnet|mono|erl|elixir|iex|groovy|scala|ghci|ocaml|sbcl|racket|octave"
    r"|env|xargs|nohup|nice|ionice|timeout|setsid|stdbuf|time|watch|flock|script|unshare|nsenter|chroot|strace|ltrace|gdb"
    r"|chrt|taskset|numactl|prlimit|setarch|setpriv|capsh|runcon|sg|newgrp|perf|valgrind|fakeroot|firejail|bwrap"
    r"|start-stop-daemon|run-parts|tmux|screen|socat|ncat|nc|rlwrap"
    r"|sudo|doas|su|runuser|pkexec|ssh|scp|sftp|rsync|systemd-run|systemctl|crontab|at|batch"
    r"|make|awk|gawk|mawk|nawk|sed|find|expect|parallel|tar|bsdtar|zip|git|less|more|man"
    r"|npm|npx|yarn|pnpm|pip[0-9.]*|pipx|uv|uvx|gem|cargo|go|psql|mysql|mariadb|sqlite3"
    r"|vi|vim(\..*)?|view|ex|nvim|emacs|ed|nano|docker|podman|kubectl|helm|ansible(-.*)?|ld\.so|ld-linux.*",
    re.IGNORECASE,  # as some file systems look names up
)


def program_problem(program: str) -> tuple[str, str] | None:
    """What is wrong with the program of a command, and how to write it."""
    if not program or len(program) > _LONGEST or "\0" in program:
        return "is not the name of a program", _ABSOLUTE
    if "/" not in program:
        return ("is not the name of a program", _ABSOLUTE) if program in (".", "..") else None
    parts = program.split("/")
    if parts[0] or any(part in ("", ".", "..") for part in parts[1:]):
        return "must be a name, or an absolute path without . and ..", _ABSOLUTE
    return None


def allows(patterns: Iterable[str], program: str) -> bool:
    """Whether one of a worker's patterns allows the program of a command."""
    if program_problem(program):
        return False
    named_only = _RUNS_ANYTHING.fullmatch(program.rpartition("/")[2]) is not None
    return any(
        pattern == program if named_only else _expression(pattern).fullmatch(program) is not None
        for pattern in patterns
    )


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    """Each star but the last takes as little as it can, and nothing else is tried (`(?>…)`). Workers are not trusted:
    a pattern with many stars must not keep a server busy."""
    first, *others = (
        "".join("[^/]" if each == "?" else re.escape(each) for each in part) for part in pattern.split("*")
    )
    inner = "".join(f"(?>[^/]*?{part})" for part in others[:-1])
    last = f"[^/]*{others[-1]}" if others else ""
    return re.compile(first + inner + last, re.DOTALL)
