"""The command of a job: what is refused before it is stored, and again before it is run."""

import pytest

from tickwork.model.command import CommandFields, ExitCodes, command_errors
from tickwork.model.process_limits import NO_LIMITS, ProcessBounds, ProcessLimits, bounds_of


def paths(**fields: object) -> list[str]:
    return [error.path for error in command_errors(CommandFields(**{"command": ["backup"], **fields}))]  # type: ignore[arg-type]


@pytest.mark.parametrize("program", ["backup-db", "/usr/bin/backup", "b", "a.sh", "-x", "[", "ü"])
def test_a_program_is_a_name_or_an_absolute_path(program: str) -> None:
    assert paths(command=[program, "--full"]) == []


@pytest.mark.parametrize(
    "program", ["", ".", "..", "./backup", "a/b", "/a/../b", "/a/./b", "//a", "/a/", "/", "../a", "a\0b"]
)
def test_any_other_program_is_refused(program: str) -> None:
    assert "command[0]" in paths(command=[program])


def test_arguments_may_be_anything_that_a_program_can_get() -> None:
    assert paths(command=["a", "", "two words", "$(rm -rf /)", "../x", "ü"]) == []
    assert paths(command=["a", "b\0c"]) == ["command[1]"]
    assert paths(command=["a", *["x" * 10_000] * 7]) == ["command"]


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "IFS",
        "PYTHONPATH",
        "PERL5OPT",
        "NODE_OPTIONS",
        "GIT_SSH_COMMAND",
        "BASH_FUNC_ls",
        "TAR_OPTIONS",
        "RSYNC_RSH",
        "LESSOPEN",
        "PSQLRC",
        "KUBECONFIG",
        "AWS_CONFIG_FILE",
        "MAKEFLAGS",
        "DOTNET_STARTUP_HOOKS",
        "ld_preload",
        "PATH",
        "HOME",
        "TICKWORK_ATTEMPT",
        "",
        "A B",
        "A=B",
        "1A",
        "A-B",
        "Ä",
    ],
)
def test_variables_that_could_make_it_run_other_code_are_refused(name: str) -> None:
    assert paths(env={name: "x"}) == [f"env.{name}"]


def test_other_variables_are_not() -> None:
    assert (
        paths(env={"BUCKET": "b", "TZ": "UTC", "LC_ALL": "C", "_x1": "", "PGPASSWORD": "p", "TOKEN": "t"})
        == []
    )
    assert paths(env={"NODE_ENV": "production", "AWS_PROFILE": "a", "DOTNET_ENVIRONMENT": "b"}) == []


def test_every_error_is_named() -> None:
    found = paths(
        command=["./x"],
        env={"LD_PRELOAD": "x", "OK": "a\0"},
        cwd="relative",
        stdin="\0",
        exit_codes=ExitCodes(success=[0, 2], final=[2]),
        process_limits=ProcessLimits(memory="lots", cpu_time="0.1s", output=-1),
    )
    assert found == [
        "command[0]",
        "env.LD_PRELOAD",
        "env.OK",
        "cwd",
        "stdin",
        "exit_codes.final",
        "process_limits.memory",
        "process_limits.output",
        "process_limits.cpu_time",
    ]


def test_what_is_for_commands_is_refused_without_one() -> None:
    fields = CommandFields(env={"A": "b"}, process_limits=ProcessLimits(memory="1Gi"))
    errors = list(command_errors(fields))
    assert [error.path for error in errors] == ["env", "process_limits"]
    assert "@app.task(process=True" in (errors[1].hint or "")
    assert not list(command_errors(CommandFields()))


@pytest.mark.parametrize("cwd", ["srv", "./srv", "/srv/../etc", "", "\0"])
def test_the_folder_is_an_absolute_path(cwd: str) -> None:
    assert paths(cwd=cwd) == ["cwd"]


def test_limits_are_in_bytes_and_seconds() -> None:
    assert bounds_of(ProcessLimits("1Gi", "2m", "1M", 64, 9)) == ProcessBounds(
        1024**3, 120.0, 1_000_000, 64, 9
    )
    assert bounds_of(NO_LIMITS) == ProcessBounds(None, None, 100 * 1024**2, None)
