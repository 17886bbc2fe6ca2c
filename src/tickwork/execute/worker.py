"""A worker receives attempts from a server, runs them on time and reports their outcomes.

It is connected to one server at a time. When it loses the connection, it keeps running its attempts and connects to
the next server. When its lease expires, it stops the running attempts but still reports those that had ended. When a
server refuses to renew the lease, the worker drops all attempts and registers as a new worker.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from random import uniform
from typing import NoReturn

import structlog
from opentelemetry.trace import Tracer

from tickwork.execute.clock import DatabaseClock, Elapsed, elapsed
from tickwork.execute.lease_expiry import Lease, LeaseLost
from tickwork.execute.log.outbox import COLLECT_INTERVAL
from tickwork.execute.log_failed_attempts import FailedAttemptWorkerLog
from tickwork.execute.runner_set import RunnerSet
from tickwork.execute.until_one_ends import until_one_ends
from tickwork.execute.worker_attempts import WorkerAttempts
from tickwork.execute.worker_metrics import count_blocked, count_ended, report_worker
from tickwork.execute.worker_self_description import WorkerSelfDescription
from tickwork.log_rate_limit import LogRateLimit
from tickwork.model import worker_protocol as protocol
from tickwork.model.public_ids import worker_id
from tickwork.model.task import TaskDefinition
from tickwork.model.worker import BEAT, WorkerLoad
from tickwork.model.worker_protocol import Claim, Connection, Link, Micros

SLOTS_DEFAULT = 100

_BEAT = BEAT.total_seconds()
_SILENCE_LIMIT = 2 * _BEAT + 1  # seconds without a message after which the connection counts as lost
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds between attempts to connect
_REPORT_INTERVAL = 0.002  # seconds: outcomes that end in this time share a message
_LONG_RUNNING_INTERVAL = _LATE_BEAT = 1.0  # seconds
_NO_CONNECTION = "no connection to a server; trying again"
_CONNECTION_LOG_PERIOD = 60.0  # seconds: log the same connection error once in this time

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


class Worker:
    def __init__(
        self,
        link: Link,
        tasks: Iterable[TaskDefinition],
        *,
        name: str | None = None,
        slots: int = SLOTS_DEFAULT,
        queues: Sequence[str] = (),
        weights: Mapping[str, float] | None = None,
        labels: Mapping[str, str] | None = None,
        resources: Mapping[str, float] | None = None,
        app: str | None = None,
        commands: Sequence[str] = (),
        log_failures: bool = True,
        tracer: Tracer | None = None,
        count_attempts: bool = True,
        measure: Elapsed = elapsed,
        measure_load: Callable[[], WorkerLoad] | None = None,
    ) -> None:
        """`queues`: the queues to serve; all if empty. `weights`: each queue's share of the slots relative to the
        others, 1 by default. `app`: where child processes import the tasks from, as "module:app". `commands`: patterns
        of the programs that it runs as commands. `tracer`: for the spans of traced attempts; that of the process by
        default. `count_attempts`: for the metrics of this process; False if nobody can read them. `measure_load`: what
        to send of the machine with each heartbeat."""
        tasks = list(tasks)
        self._link = link
        name = name or f"{socket.gethostname()}-{os.getpid()}"
        self.description = WorkerSelfDescription(
            name, slots, tasks, queues, weights or {}, labels or {}, resources or {}, commands
        )
        self._measure_load = measure_load
        self._reports_metrics = count_attempts
        self._clock = DatabaseClock(measure)
        self._lease = Lease()
        self._runners = RunnerSet(tasks, app, commands)
        self.needs_restart = asyncio.Event()  # too many tasks do not stop: only a new process helps
        self._check_now = asyncio.Event()  # wakes _watch_connection
        self._report_due = asyncio.Event()  # wakes _send_reports
        self._failures = FailedAttemptWorkerLog()
        self._connection_log_limit = LogRateLimit(
            _log.warning, _NO_CONNECTION, per_kind=1, period=_CONNECTION_LOG_PERIOD
        )
        self._attempts = WorkerAttempts(
            slots,
            self._runners.handlers,
            self._clock,
            self._lease,
            report_ready=self._report_due.set,
            lease_expired=self._check_now.set,
            needs_restart=self.needs_restart.set,
            failed=self._failures.log if log_failures else None,
            tracer=tracer,
            count_ended=count_ended if count_attempts else None,
        )
        self._last_received = 0.0
        self._sent_credit = 0
        self._connect_tries = 0
        self._welcomed = self._draining = self._stopped = False
        self._drain_sent = False  # the server on this connection knows that we drain
        self._server_drained = False  # the server on this connection sends no more attempts

    async def run(self) -> None:
        """Run attempts until the worker is drained or stopped."""
        self._runners.open()
        self._attempts.open()
        wake = partial(asyncio.get_running_loop().call_soon_threadsafe, self._report_due.set)
        self.description.after_change(wake)
        if self._reports_metrics:
            report_worker(
                slots=self.description.slots,
                running=lambda: self._attempts.running,
                pending=lambda: len(self._attempts),
                connected=lambda: self._welcomed,
            )
        name, slots, tasks = self.description.name, self.description.slots, self.description.task_count
        _log.info("worker started", name=name, slots=slots, tasks=tasks)
        try:
            while not self._finished:
                await self._run_connection()
        finally:
            await self._attempts.close()
            await self._runners.close()
            self._failures.close()
            _log.info("worker stopped", name=name)

    def drain(self) -> None:
        """Accept no new attempts and return those that have not started. `run` ends when the rest is recorded."""
        if not self._draining:
            _log.info(
                "worker drains: takes nothing new and finishes what it runs", running=self._attempts.running
            )
        self._draining = True
        self._attempts.return_unstarted()
        self._report_due.set()
        self._check_now.set()

    def abort_running(self, reason: str | None = None) -> None:
        """Stop the running attempts and report them as lost, so that other workers can retry them at once. With a
        reason, that is nobody's fault and does not count."""
        self._attempts.stop_running(reason)

    def stop_now(self) -> None:
        """Stop everything without a report. The server notices when the lease expires."""
        if not self._finished:
            _log.warning(
                "worker stops without finishing its running attempts", running=self._attempts.running
            )
        self._stopped = True
        self._check_now.set()

    @property
    def is_connected(self) -> bool:
        """A server has accepted this worker and its tasks."""
        return self._welcomed

    @property
    def is_busy(self) -> bool:
        """The worker has attempts that are due and whose outcomes are not recorded yet."""
        return self._attempts.has_due

    @property
    def next_start(self) -> Micros | None:
        """The earliest start of the attempts that are not due yet."""
        return self._attempts.next_start

    @property
    def _finished(self) -> bool:
        return self._stopped or (self._draining and not self._attempts)

    @property
    def _may_leave(self) -> bool:
        """The worker is finished, and the connected server sends no more attempts."""
        return self._finished and (self._stopped or self._server_drained or not self._welcomed)

    # One connection, from connecting to its end

    async def _run_connection(self) -> None:
        self._last_received = self._clock.elapsed()
        try:
            await until_one_ends(self._watch_connection(), self._connect_and_serve())
        except LeaseLost:
            self._attempts.forget_all()  # again: attempts may have arrived before the connection was closed
        except OSError as error:
            self._log_lost_connection(str(error) or type(error).__name__)
        if not self._finished:
            await self._wait_before_reconnect()

    def _log_lost_connection(self, error: str) -> None:
        if self._connection_log_limit.admits(error):
            _log.warning(_NO_CONNECTION, error=error, holding=len(self._attempts))

    async def _watch_connection(self) -> None:
        """Return when the worker is finished. Raise when the server is silent for too long."""
        while not self._may_leave:
            self._check_lease()
            silent = self._clock.elapsed() - self._last_received
            if silent > _SILENCE_LIMIT:
                raise ConnectionError(f"the server has been silent for {silent:.0f} seconds")
            await self._wait_for_check(_SILENCE_LIMIT - silent)

    async def _connect_and_serve(self) -> None:
        connection = await self._link.connect()
        try:
            await self._shake_hands(connection)
            await until_one_ends(
                self._receive_messages(connection),
                self._send_beats(connection),
                self._send_reports(connection),
                self._poll_logs(),
                self._send_long_running(connection),
                self._measure(),
            )
        finally:
            self._welcomed = False
            await connection.close()

    async def _shake_hands(self, connection: Connection) -> None:
        sent = self._clock.elapsed()
        self._sent_credit = self._credit()
        await connection.send(
            self.description.hello(
                credit=self._sent_credit, resume=self._lease.token, holding=self._attempts.claims()
            )
        )
        match await connection.receive():
            case protocol.Welcome() as welcome:
                self._accept_welcome(welcome, sent)
            case protocol.Refused(reason):
                self._lose_lease(reason)
            case answer:
                raise ConnectionError(f"the server answers a Hello with {type(answer).__name__}")

    def _accept_welcome(self, welcome: protocol.Welcome, sent: float) -> None:
        self._lease.grant(welcome.token, sent=sent, seconds=welcome.lease)
        self._clock.learn(sent=sent, database=welcome.now)
        self._attempts.forget(welcome.forget)
        self._attempts.resend()
        self._last_received = self._clock.elapsed()
        self._welcomed = True
        self._drain_sent = self._server_drained = False
        self._connect_tries = 0
        self._attempts.start_due()
        self._report_due.set()
        _log.info("connected", worker=worker_id(welcome.worker))

    async def _wait_before_reconnect(self) -> None:
        longest = min(_FIRST_PAUSE * 2**self._connect_tries, _LONGEST_PAUSE)
        self._connect_tries = min(self._connect_tries + 1, 10)
        await self._wait_for_check(uniform(longest / 2, longest))  # noqa: S311 (spread)
        self._check_lease()

    # Duties while connected

    async def _receive_messages(self, connection: Connection) -> None:
        while True:
            message = await connection.receive()
            self._last_received = self._clock.elapsed()
            self._handle(message)

    def _handle(self, message: protocol.FromServer) -> None:
        match message:
            case protocol.Runs(runs):
                self._take(runs)
            case protocol.Ack(number):
                self._attempts.acknowledge_outcomes(number)
                if self._finished:
                    self._check_now.set()
            case protocol.Noted() | protocol.Checkpointed() | protocol.Recalled():
                self._attempts.take_answer(message)
            case protocol.Renewed(sent, now):
                self._lease.renew(sent=sent)
                self._clock.learn(sent=sent, database=now)
                self._attempts.start_due()
            case protocol.Revoke(claims, reason):
                self._attempts.revoke(claims, reason)
            case protocol.Drain():
                _log.info("the server asked this worker to drain")
                self.drain()
            case protocol.Drained():
                self._server_drained = True
                self._check_now.set()
            case protocol.Refused(reason):
                self._lose_lease(reason)

    def _take(self, runs: Iterable[protocol.Run]) -> None:
        self._attempts.take(runs)
        if self._draining:
            self._attempts.return_unstarted()

    async def _send_beats(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _BEAT
            await asyncio.sleep(_BEAT)
            late = loop.time() - due
            if late > _LATE_BEAT:
                count_blocked(late)
                _log.warning(
                    "something blocked the event loop: a task that never awaits?", seconds=round(late, 1)
                )
            self._attempts.start_due()
            self._attempts.return_surplus()
            await self._send_beat(connection, self._attempts.newly_long_running())

    async def _send_long_running(self, connection: Connection) -> None:
        """Report them between beats, so that the server knows their start times even if the worker dies soon after."""
        while True:
            await asyncio.sleep(_LONG_RUNNING_INTERVAL)
            if running := self._attempts.newly_long_running():
                await self._send_beat(connection, running)

    async def _send_beat(self, connection: Connection, running: list[tuple[Claim, Micros]]) -> None:
        self._sent_credit = self._credit()
        await connection.send(
            self.description.beat(sent=self._clock.elapsed(), credit=self._sent_credit, running=running)
        )

    async def _measure(self) -> None:
        """In a thread: a disk that hangs must not delay heartbeats."""
        while self._measure_load:
            self.description.measured(await asyncio.to_thread(self._measure_load))
            await asyncio.sleep(_BEAT)
        await asyncio.Event().wait()

    async def _send_reports(self, connection: Connection) -> None:
        while True:
            await self._report_due.wait()
            self._report_due.clear()
            if self._draining and not self._drain_sent:
                await connection.send(protocol.Drain())
                self._drain_sent = True
            await self._send_pending(connection)
            is_steady = self._sent_credit / 2 <= self._credit() <= self._sent_credit * 2
            if self.description.has_changed or not is_steady:
                await self._send_beat(connection, self._attempts.newly_long_running())
            await asyncio.sleep(_REPORT_INTERVAL)

    async def _send_pending(self, connection: Connection) -> None:
        while messages := self._attempts.next_messages():
            for message in messages:
                await connection.send(message)

    async def _poll_logs(self) -> None:
        """Poll, because tasks also log from threads, which cannot set an asyncio event."""
        while True:
            await asyncio.sleep(COLLECT_INTERVAL)
            if self._attempts.has_logs:
                self._report_due.set()

    # Credit and lease

    def _credit(self) -> int:
        return 0 if self._draining else self._attempts.credit()

    def _check_lease(self) -> None:
        """Stop the running attempts when the lease has expired, because other workers may start them now. The worker
        keeps its attempts: the next server that it connects to decides whether they are still its own."""
        if self._lease.ran_out(self._clock.elapsed()):
            stopped = self._attempts.stop_running()
            if stopped:
                _log.warning(
                    "the lease was not renewed in time; stopped the running attempts", attempts=stopped
                )

    def _lose_lease(self, reason: str) -> NoReturn:
        """Drop all attempts at once: other workers may already run them."""
        _log.warning(
            "the lease is lost; registering as a new worker", reason=reason, dropped=len(self._attempts)
        )
        self._lease.drop()
        self._attempts.forget_all()
        raise LeaseLost(reason)

    async def _wait_for_check(self, at_most: float) -> None:
        """Until the lease ends, or this many seconds, or something asks for the check."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._lease.seconds_left(self._clock.elapsed(), at_most)):
                await self._check_now.wait()
        self._check_now.clear()
