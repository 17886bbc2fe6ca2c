"""The command of a job: program and arguments, environment, folder and input, and what its exit codes mean.

Nothing here is a shell: arguments reach the program as they are written. Both the server that stores a command and the
worker that runs it check it by the rules of this module.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.model.command_allow_list import program_problem
from tickwork.model.errors import FieldError
from tickwork.model.json_limits import NUL
from tickwork.model.partial_struct import Partial
from tickwork.model.process_limits import NO_LIMITS, ProcessLimits, limit_errors

COMMAND_TASK = "command"  # what lists show as the task of a command
_MOST_BYTES = 64 * 1024  # of all arguments, and of all variables
_MOST_VARIABLES = 100

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_SET_BY_WORKER = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD"})
# Variables that make a loader, a shell, an interpreter or a common program run code of somebody's choice: directly, or
# through a file that they name, which may be the input of the command. An allowed script may call any of these.
_DANGEROUS = frozenset(
    {"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH", "PROMPT_COMMAND", "GLOBIGNORE", "ZDOTDIR"}
    | {"GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "RES_OPTIONS"}
    | {"NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"}
    | {"RUBYOPT", "RUBYLIB", "EDITOR", "VISUAL", "PAGER", "BROWSER", "TERMINFO", "TERMINFO_DIRS", "TERMCAP"}
    | {"OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "SSLKEYLOGFILE"}
    | {"TAR_OPTIONS", "RSYNC_RSH", "RSYNC_CONNECT_PROG", "CVS_RSH", "SSH_ASKPASS", "SUDO_ASKPASS", "SUDO_EDITOR"}
    | {"LESSOPEN", "LESSCLOSE", "MANPAGER", "SYSTEMD_PAGER", "PSQLRC", "PSQL_EDITOR", "PSQL_PAGER"}
    | {"MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "NODE_REPL_EXTERNAL_MODULE"}
    | {"PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER"}
    | {"DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "DOTNET_SHARED_STORE", "DOTNET_ROOT", "XDG_CONFIG_HOME"}
    | {"KUBECONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "BOTO_CONFIG", "DOCKER_CONFIG"}
    | {"CURL_HOME", "WGETRC", "AWKPATH", "AWKLIBPATH"}
)  # fmt: skip
_DANGEROUS_PREFIXES = (
    "LD_", "DYLD_", "BASH_FUNC_", "PYTHON", "PERL", "GIT_", "LUA_", "MALLOC_", "CORECLR_", "COR_", "GUILE_", "ERL_",
)  # fmt: skip
_OWN_PREFIX = "TICKWORK_"

Argument = Annotated[str, Meta(max_length=16_384)]
ExitCode = Annotated[int, Meta(ge=0, le=255)]
ExitCodeList = Annotated[list[ExitCode], Meta(max_length=256)]


class ExitCodes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What exit codes mean. After any code that is in neither list, the attempt is retried."""

    success: ExitCodeList = msgspec.field(default_factory=lambda: [0])
    final: ExitCodeList = []  # failed, and trying again is useless


NO_EXIT_CODES = ExitCodes()


class CommandFields(Partial, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a job that runs a command."""

    command: (
        Annotated[
            list[Argument],
            Meta(min_length=1, max_length=500, description="a program and its arguments, without a shell"),
        ]
        | None
    ) = None
    env: dict[str, str] = {}  # secret values are shown as ***
    cwd: Annotated[str, Meta(min_length=1, max_length=1024, description="the folder to run in")] | None = None
    stdin: (
        Annotated[str, Meta(max_length=64 * 1024, description="its input; by default the payload as JSON")]
        | None
    ) = None
    exit_codes: ExitCodes = NO_EXIT_CODES
    process_limits: ProcessLimits = NO_LIMITS


class Command(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker needs to run a command, besides the payload."""

    command: list[str]
    env: dict[str, str] = {}
    cwd: str | None = None
    stdin: str | None = None
    exit_codes: ExitCodes = NO_EXIT_CODES
    process_limits: ProcessLimits = NO_LIMITS

    @property
    def program(self) -> str:
        return self.command[0]


_OPTIONS = ("env", "cwd", "stdin", "exit_codes", "process_limits")


def command_of(fields: CommandFields) -> Command | None:
    if not fields.command:
        return None
    return Command(fields.command, **{name: getattr(fields, name) for name in _OPTIONS})


def command_errors(fields: CommandFields) -> Iterator[FieldError]:
    """Everything that is wrong with the fields of a command before it is run."""
    command = command_of(fields)
    if command is None:
        yield from _errors_without_command(fields)
        return
    yield from _argument_errors(command.command)
    yield from env_errors(command.env)
    yield from _folder_errors(command.cwd)
    if command.stdin and NUL in command.stdin:
        yield FieldError("stdin", "must not contain a NUL character")
    for code in set(command.exit_codes.success) & set(command.exit_codes.final):
        yield FieldError("exit_codes.final", f"{code} is in success, too", "list each code once")
    yield from limit_errors(command.process_limits)


def _errors_without_command(fields: CommandFields) -> Iterator[FieldError]:
    default = CommandFields()
    for name in _OPTIONS:
        if getattr(fields, name) != getattr(default, name):
            hint = "give command, too"
            if name == "process_limits":
                hint = "a task has its own: @app.task(process=True, memory=…, cpu_time=…)"
            yield FieldError(name, "is for a job with a command", hint)


def _argument_errors(command: Sequence[str]) -> Iterator[FieldError]:
    if problem := program_problem(command[0]):
        yield FieldError("command[0]", *problem)
    for place, argument in enumerate(command):
        if NUL in argument:
            yield FieldError(f"command[{place}]", "must not contain a NUL character")
    if sum(len(argument.encode(errors="replace")) + 1 for argument in command) > _MOST_BYTES:
        yield FieldError("command", f"takes more than {_MOST_BYTES} bytes", "put long values into stdin")


def env_errors(env: Mapping[str, str]) -> Iterator[FieldError]:
    for name, value in env.items():
        if reason := _refusal(name):
            yield FieldError(f"env.{name[:80]}", *reason)
        elif NUL in value:
            yield FieldError(f"env.{name}", "must not contain a NUL character")
    if len(env) > _MOST_VARIABLES:
        yield FieldError("env", f"has {len(env)} variables; {_MOST_VARIABLES} at most", "put them into stdin")
    if sum(len(name) + len(value.encode(errors="replace")) + 2 for name, value in env.items()) > _MOST_BYTES:
        yield FieldError("env", f"takes more than {_MOST_BYTES} bytes", "put long values into stdin")


def _refusal(name: str) -> tuple[str, str] | None:
    if not _VARIABLE.fullmatch(name):
        return "is not the name of a variable", "use letters, digits and underscores"
    if name in _SET_BY_WORKER or name.startswith(_OWN_PREFIX):
        return "is set by the worker", "leave it out"
    if name.upper() in _DANGEROUS or name.upper().startswith(_DANGEROUS_PREFIXES):
        return "can make the program run other code", "set it in a script that the worker allows"
    return None


def _folder_errors(cwd: str | None) -> Iterator[FieldError]:
    if cwd is None:
        return
    if NUL in cwd:
        yield FieldError("cwd", "must not contain a NUL character")
    elif not cwd.startswith("/") or ".." in cwd.split("/"):
        yield FieldError("cwd", "must be an absolute path without ..", "such as /srv/backups")
