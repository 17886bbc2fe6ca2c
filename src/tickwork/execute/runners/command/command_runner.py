"""Runs the commands of jobs, if the worker's own list allows them: whatever a server sends, nothing else is started."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import msgspec

from tickwork.execute.attempt_ending import Ending, failed, timed_out, unchanged
from tickwork.execute.attempt_state import Attempt, Handler
from tickwork.execute.runners.command.child_environment import child_environment, search_path
from tickwork.execute.runners.command.command_output import STDERR, STDOUT, CommandOutput
from tickwork.execute.runners.command.describe_exit import (
    ending_of_report,
    not_executable,
    not_found,
    too_much_output,
)
from tickwork.execute.runners.contained.supervisor_handle import Report, SupervisorHandle, folder_problem
from tickwork.execute.runners.contained.worker_cgroup import end_orphans
from tickwork.model.command import Command, CommandFields, command_errors
from tickwork.model.command_allow_list import allows
from tickwork.model.mask_command_env import secret_values
from tickwork.model.process_limits import bounds_of
from tickwork.model.worker_protocol import Run

_LAST_OUTPUT_TIMEOUT = 0.5  # seconds for the last output of a dead process to arrive
_NO_PAYLOAD = b"null"
_LOST = failed("CommandLost", "the process that supervises the command was killed")

_decode = msgspec.json.Decoder(Command).decode


class CommandRunner:
    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self.cgroup: str | None = None  # the folder to make a cgroup in for each command

    def handler(self) -> Handler:
        return Handler(self._run, unchanged)

    async def _run(self, attempt: Attempt) -> Ending:
        try:
            command = _decode(attempt.run.target or b"")
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            return failed("CommandRefused", f"the command cannot be read: {error}", retry=False)
        program = self._allowed_program(command)
        if isinstance(program, Ending):
            return program
        if problem := folder_problem(command.cwd):
            return failed("CommandNotStarted", problem)
        ending = await _RunningCommand(attempt, command, self.cgroup).run(program)
        if ending is _LOST and self.cgroup:
            end_orphans(Path(self.cgroup))
        return ending

    def _allowed_program(self, command: Command) -> str | Ending:
        """The file to execute, or why there is none."""
        if not command.command or not allows(self._patterns, command.program):
            name = command.program if command.command else ""
            return failed(
                "CommandNotAllowed", f"this worker does not allow the program {name!r}", retry=False
            )
        fields = CommandFields(**msgspec.structs.asdict(command))
        if error := next(command_errors(fields), None):
            return failed("CommandRefused", f"{error.path} {error.message}", retry=False)
        return _find(command.program)


def _find(program: str) -> str | Ending:
    """An empty PATH has no program: an empty folder in it would be the one that the job names as `cwd`."""
    folders = search_path().split(os.pathsep) if search_path() else []
    paths = [program] if "/" in program else [f"{folder}/{program}" for folder in folders]
    files = [path for path in paths if os.path.isfile(path)]  # noqa: PTH113 (a text, as the job wrote it)
    executable = (path for path in files if os.access(path, os.X_OK))
    return next(executable, None) or (not_executable(program) if files else not_found(program))


def _input_of(command: Command, run: Run) -> bytes:
    """What the command reads: its `stdin`, or else the payload as JSON."""
    if command.stdin is not None:
        return command.stdin.encode(errors="replace")
    return b"" if run.payload == _NO_PAYLOAD else run.payload


class _RunningCommand(asyncio.SubprocessProtocol):
    def __init__(self, attempt: Attempt, command: Command, cgroup: str | None) -> None:
        self._attempt = attempt
        self._command = command
        self._bounds = bounds_of(command.process_limits)
        self._supervisor = SupervisorHandle(self._bounds, attempt.run.timeout, cgroup)
        self._transport: asyncio.SubprocessTransport
        self._output = CommandOutput(
            attempt,
            secret_values(command.env),
            self._bounds.output,
            exceeded=self._supervisor.send_stop,
            pause=self._pause,
            resume=self._resume,
        )
        self._open_streams = {STDOUT, STDERR}
        self._is_abandoned = (
            False  # its supervisor has not ended all in time, and must not be killed by closing
        )
        self._output_ended = asyncio.get_running_loop().create_future()
        self._exited = asyncio.get_running_loop().create_future()  # the supervisor

    async def run(self, program: str) -> Ending:
        with ExitStack() as closing:
            closing.callback(self._supervisor.close)
            try:
                await self._start(program)
            except OSError as error:
                return failed("CommandNotStarted", f"no process could be started: {error}")
            try:
                report = await asyncio.shield(self._supervisor.ended)
            except BaseException:
                await self._conclude(await self._supervisor.stop())
                raise
            await self._conclude(report)
        return self._ending(report)

    async def _start(self, program: str) -> None:
        with tempfile.TemporaryFile() as given:
            given.write(_input_of(self._command, self._attempt.run))
            given.seek(0)
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *self._supervisor.command_line(program, self._command.program, self._command.command[1:]),
                stdin=given,
                env=child_environment(self._attempt.run, self._command.env),
                cwd=self._command.cwd,
                start_new_session=True,
                pass_fds=(self._supervisor.descriptor,),
            )
        self._supervisor.begin()

    async def _conclude(self, report: Report | None) -> None:
        """Log the rest of the output, and what the command has used."""
        ends = {self._output_ended, self._exited}
        await asyncio.wait(ends, timeout=_LAST_OUTPUT_TIMEOUT if report else 0)
        self._output.close()
        if report is None:
            self._is_abandoned = True
            if self._exited.done():
                self._transport.close()
            return
        self._transport.close()
        if report.error:
            return
        self._attempt.outboxes.logs.report_usage(self._attempt, report.usage)
        if report.left:
            what = "1 process was" if report.left == 1 else f"{report.left} processes were"
            self._attempt.log("warning", f"{what} left behind by the command, and ended")

    def _ending(self, report: Report | None) -> Ending:
        if report is None:
            return _LOST
        if self._output.is_too_much:
            return too_much_output(self._bounds.output)
        if report.reason == "time":
            return timed_out(self._attempt.run.timeout)
        return ending_of_report(self._command, report, self._bounds, self._output.tail())

    def _pause(self) -> None:
        for stream in self._open_streams:
            self._reader(stream).pause_reading()

    def _resume(self) -> None:
        for stream in self._open_streams:
            self._reader(stream).resume_reading()

    def _reader(self, stream: int) -> asyncio.ReadTransport:
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(stream))

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output.add(fd, data)

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)
        if self._is_abandoned:
            self._transport.close()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 (the reason does not matter)
        self._open_streams.discard(fd)
        if not self._open_streams and not self._output_ended.done():
            self._output_ended.set_result(None)
