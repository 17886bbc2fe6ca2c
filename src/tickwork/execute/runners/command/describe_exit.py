"""How an attempt ends whose command has ended, in words."""

import errno
import signal

from tickwork.execute.attempt_ending import Ending, ending_of_value, failed
from tickwork.execute.runners.contained.supervisor_handle import Report, exceeded_limit, signal_words
from tickwork.model.command import Command
from tickwork.model.execution import AttemptOutcome
from tickwork.model.process_limits import ProcessBounds
from tickwork.model.quantities import format_size
from tickwork.model.worker_protocol import Failure

_SHELL_SIGNAL = 128  # a shell exits with this plus the number of the signal that killed its last command
_LAST_SIGNAL = 64
_KILLED = "as the kernel does where memory is short"
_NOT_EXECUTABLE = (errno.EACCES, errno.EPERM, errno.ENOEXEC)


def not_started(command: Command, number: int) -> Ending:
    if number in (errno.ENOENT, errno.ENOTDIR):
        return not_found(command.program)
    if number in _NOT_EXECUTABLE:
        return not_executable(command.program)
    words = errno.errorcode.get(number, str(number))
    return failed("CommandNotStarted", f"{command.program} could not be started: {words}")


def not_found(program: str) -> Ending:
    where = (
        "or the interpreter in its first line is not there"
        if "/" in program
        else "in the PATH of this worker"
    )
    return failed("CommandNotFound", f"there is no program {program} {where}")


def not_executable(program: str) -> Ending:
    hint = "it must be executable, and a script begins with #! and its interpreter"
    return failed("CommandNotExecutable", f"this worker cannot execute {program}: {hint}")


def too_much_output(limit: int) -> Ending:
    return failed("OutputLimit", f"ended because it printed more than {format_size(limit)}")


def ending_of_report(command: Command, report: Report, bounds: ProcessBounds, tail: str) -> Ending:
    """`tail`: the last lines that it printed."""
    if report.error:
        return not_started(command, report.error)
    if ending := exceeded_limit(report, bounds):
        return ending
    if report.status in command.exit_codes.success:
        return ending_of_value({"exit_code": report.status})
    kind = f"Exit{report.status}" if report.status >= 0 else _signal_name(-report.status)
    failure = Failure(
        kind,
        _message(report.status, tail),
        retry=report.status not in command.exit_codes.final,
        kinds=["ExitCode" if report.status >= 0 else "KilledBySignal"],
    )
    return Ending(AttemptOutcome.FAILED, failure=failure)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"Signal{number}"


def _message(status: int, tail: str) -> str:
    said = f"; its last lines:\n{tail}" if tail else ""
    return f"{_status_words(status)}{said}"


def _status_words(status: int) -> str:
    if status < 0:
        why = f", {_KILLED}" if status == -signal.SIGKILL else ""
        return f"was killed by {signal_words(-status)}{why}"
    number = status - _SHELL_SIGNAL
    if 0 < number <= _LAST_SIGNAL:
        why = f", {_KILLED}" if number == signal.SIGKILL else ""
        return f"exited with code {status}, which tells of {signal_words(number)}{why}"
    return f"exited with code {status}"
