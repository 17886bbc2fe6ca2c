"""Which programs the patterns of a worker allow."""

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
    "program", ["sh", "bash", "dash", "zsh", "python3", "python3.11", "env", "sudo", "xargs", "perl"]
)
def test_what_can_run_anything_must_be_named(program: str) -> None:
    assert not allows(["*", "?*", f"{program}*"], program)
    assert not allows(["/bin/*"], f"/bin/{program}")
    assert allows(["*", program], program)
    assert allows([f"/bin/{program}"], f"/bin/{program}")


def test_one_of_several_patterns_is_enough_and_none_allows_nothing() -> None:
    assert allows(["a", "b*"], "bc")
    assert not allows([], "a")
