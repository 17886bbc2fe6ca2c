"""Which programs the patterns of a worker allow."""

from itertools import product

import pytest

from tickwork.model.command_allow_list import allows


@pytest.mark.parametrize(
    ("pattern", "program", "is_allowed"),
    [
        ("backup-db", "backup-db", True),
        ("backup-*", "backup-db", True),
        ("backup-*", "backup-", True),
        ("backup-?", "backup-db", False),
        ("backup-*", "my-backup-db", False),
        ("backup-*", "backup-db/../sh", False),
        ("backup-*", "/usr/bin/backup-db", False),
        ("/opt/jobs/*", "/opt/jobs/a", True),
        ("/opt/jobs/*", "/opt/jobs/a/b", False),
        ("/opt/jobs/*", "/opt/jobs/../sh", False),
        ("/opt/jobs/*", "a", False),
        ("/opt/jobs/..", "/opt/jobs/..", False),
        ("*", "backup-db", True),
        ("*", "/usr/bin/backup-db", False),
        ("a.b", "axb", False),
        ("a[b]", "ab", False),
        ("*", "a\nb", True),
        ("*", "", False),
    ],
)
def test_a_star_matches_anything_but_a_slash(pattern: str, program: str, is_allowed: bool) -> None:
    assert allows([pattern], program) is is_allowed


@pytest.mark.parametrize(
    "program",
    [
        "sh",
        "bash",
        "dash",
        "zsh",
        "python3",
        "python3.11",
        "env",
        "sudo",
        "xargs",
        "perl",
        "BASH",
        "Python3",
        "tar",
        "rsync",
        "git",
        "npx",
        "psql",
        "vim.basic",
        "taskset",
    ],
)
def test_what_can_run_anything_must_be_named(program: str) -> None:
    assert not allows(["*", "?*", f"{program}*"], program)
    assert not allows(["/bin/*"], f"/bin/{program}")
    assert allows(["*", program], program)
    assert allows([f"/bin/{program}"], f"/bin/{program}")


def test_one_of_several_patterns_is_enough_and_none_allows_nothing() -> None:
    assert allows(["a", "b*"], "bc")
    assert not allows([], "a")


def matches(pattern: str, program: str) -> bool:
    """The rule itself, one character at a time."""
    if not pattern:
        return not program
    if pattern[0] == "*":
        return matches(pattern[1:], program) or (
            bool(program) and program[0] != "/" and matches(pattern, program[1:])
        )
    is_same = bool(program) and (pattern[0] == program[0] or (pattern[0] == "?" and program[0] != "/"))
    return is_same and matches(pattern[1:], program[1:])


def test_short_patterns_match_as_the_rule_says() -> None:
    patterns = ["".join(each) for size in range(1, 5) for each in product("ab*?", repeat=size)]
    programs = ["".join(each) for size in range(1, 5) for each in product("ab", repeat=size)]
    patterns += [f"/{pattern}/a*" for pattern in patterns if len(pattern) < 3]
    programs += [f"/{program}/ab" for program in programs if len(program) < 3]
    wrong = [
        (pattern, program)
        for pattern, program in product(patterns, programs)
        if allows([pattern], program) != matches(pattern, program)
    ]
    assert wrong == []


def test_a_pattern_with_many_stars_is_decided_at_once() -> None:
    assert not allows(["*a" * 500 + "*b"], "a" * 1000)
    assert not allows(["*?" * 500 + "b"], "a" * 1000)
    assert allows(["*a" * 500 + "*"], "a" * 1000)
