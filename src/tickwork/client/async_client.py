"""The client for async code."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

import httpx2

from tickwork.client import (
    batch_and_bulk_requests,
    build_access_requests,
    build_channel_requests,
    build_cluster_requests,
    build_monitoring_and_dead_letter_requests,
    build_notification_requests,
    build_ping_requests,
    build_queue_requests,
    build_requests,
    build_retention_requests,
    build_worker_and_task_requests,
    rest_worker_requests,
    wait_for_execution,
)
from tickwork.client.argument_types import EventFilters, JobFilters
from tickwork.client.build_requests import Answer, Call
from tickwork.client.find_server import (
    TIMEOUT_DEFAULT,
    connection_options,
    find_server,
    shown_url,
    take_signature,
)
from tickwork.client.follow_stream import EventFollower, Item, LogFollower, StreamFollower
from tickwork.client.request_retry_answer import RETRIES_DEFAULT, HttpRequest, Pause, Reply, Steps, exchange
from tickwork.model.attempt_log import AttemptProgress, LogEntry
from tickwork.model.errors import TickworkError
from tickwork.model.job import JobView
from tickwork.model.stream_event import StreamEvent

P = ParamSpec("P")
Result = TypeVar("Result")


def _sends(describe: Callable[P, Call[Answer]]) -> "Callable[Concatenate[AsyncClient, P], Awaitable[Answer]]":
    async def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self._run_steps(exchange(describe(*args, **kwargs), self._retries))

    take_signature(method, describe)
    return method


def _runs_steps(
    describe: Callable[P, Steps[Result]],
) -> "Callable[Concatenate[AsyncClient, P], Awaitable[Result]]":
    async def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> Result:
        return await self._run_steps(describe(*args, **kwargs))

    take_signature(method, describe)
    return method


class AsyncClient:
    """A client of a Tickwork server. Without arguments, of the server that TICKWORK_URL and TICKWORK_API_KEY name, or
    else of the one that `tickwork up` runs in this folder. Use it in one event loop only."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_DEFAULT,
        retries: int = RETRIES_DEFAULT,
    ) -> None:
        self._http = httpx2.AsyncClient(**connection_options(find_server(url, api_key), timeout))
        self._retries = retries

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {shown_url(self._http.base_url)}>"

    create_job = _sends(build_requests.create_job)
    create_jobs = _runs_steps(batch_and_bulk_requests.create_jobs)
    create_job_batch = _sends(build_requests.create_job_batch)
    get_job = _sends(build_requests.get_job)
    get_job_health = _sends(build_monitoring_and_dead_letter_requests.get_job_health)
    list_jobs = _sends(build_requests.list_jobs)
    edit_job = _sends(build_requests.edit_job)
    cancel_job = _sends(build_requests.cancel_job)
    purge_job = _sends(build_requests.purge_job)
    get_purge = _sends(build_requests.get_purge)
    run_job = _sends(build_requests.run_job)
    retry_job = _sends(build_requests.retry_job)
    pause_job = _sends(build_requests.pause_job)
    resume_job = _sends(build_requests.resume_job)
    plan_bulk_jobs = _sends(batch_and_bulk_requests.plan_bulk_jobs)
    bulk_jobs = _sends(batch_and_bulk_requests.bulk_jobs)
    wait_for_job = _runs_steps(wait_for_execution.wait_for_job)
    preview = _sends(build_requests.preview)
    list_upcoming = _sends(build_monitoring_and_dead_letter_requests.list_upcoming)
    count_upcoming = _sends(build_monitoring_and_dead_letter_requests.count_upcoming)

    backfill_job = _sends(build_requests.backfill_job)
    plan_backfill = _sends(build_requests.plan_backfill)
    list_backfills = _sends(build_requests.list_backfills)
    get_backfill = _sends(build_requests.get_backfill)
    cancel_backfill = _sends(build_requests.cancel_backfill)
    wait_for_backfill = _runs_steps(wait_for_execution.wait_for_backfill)

    list_executions = _sends(build_requests.list_executions)
    get_graph = _sends(build_requests.get_graph)
    list_missed = _sends(build_requests.list_missed)
    list_job_changes = _sends(build_requests.list_job_changes)
    get_execution = _sends(build_requests.get_execution)
    list_attempts = _sends(build_requests.list_attempts)
    get_execution_input = _sends(build_requests.get_execution_input)
    explain_execution = _sends(build_requests.explain_execution)
    list_events = _sends(build_monitoring_and_dead_letter_requests.list_events)
    cancel_execution = _sends(build_requests.cancel_execution)
    retry_execution = _sends(build_requests.retry_execution)
    get_checkpoint = _sends(build_requests.get_checkpoint)
    delete_checkpoint = _sends(build_requests.delete_checkpoint)
    plan_bulk_executions = _sends(batch_and_bulk_requests.plan_bulk_executions)
    bulk_executions = _sends(batch_and_bulk_requests.bulk_executions)
    execution_logs = _sends(build_requests.execution_logs)
    wait_for_execution = _runs_steps(wait_for_execution.wait_for_execution)

    list_errors = _sends(build_monitoring_and_dead_letter_requests.list_errors)
    get_error = _sends(build_monitoring_and_dead_letter_requests.get_error)
    redrive_error = _sends(build_monitoring_and_dead_letter_requests.redrive_error)
    discard_error = _sends(build_monitoring_and_dead_letter_requests.discard_error)
    list_dead_letters = _sends(build_monitoring_and_dead_letter_requests.list_dead_letters)
    redrive_dead_letters = _runs_steps(batch_and_bulk_requests.redrive_dead_letters)
    discard_dead_letters = _sends(build_monitoring_and_dead_letter_requests.discard_dead_letters)

    list_notifications = _sends(build_notification_requests.list_notifications)
    get_notification = _sends(build_notification_requests.get_notification)
    get_notification_message = _sends(build_notification_requests.get_notification_message)
    resend_notification = _sends(build_notification_requests.resend_notification)
    list_notification_rules = _sends(build_notification_requests.list_notification_rules)
    get_notification_rule = _sends(build_notification_requests.get_notification_rule)
    set_notification_rule = _sends(build_notification_requests.set_notification_rule)
    delete_notification_rule = _sends(build_notification_requests.delete_notification_rule)
    get_job_notify = _sends(build_notification_requests.get_job_notify)

    list_workflows = _sends(build_monitoring_and_dead_letter_requests.list_workflows)
    get_cluster = _sends(build_cluster_requests.get_cluster)
    pause_cluster = _sends(build_cluster_requests.pause_cluster)
    get_resume_report = _sends(build_cluster_requests.get_resume_report)
    resume_cluster = _sends(build_cluster_requests.resume_cluster)
    get_overview = _sends(build_monitoring_and_dead_letter_requests.get_overview)
    get_timeline = _sends(build_monitoring_and_dead_letter_requests.get_timeline)
    get_stats = _sends(build_monitoring_and_dead_letter_requests.get_stats)

    list_breakers = _sends(build_monitoring_and_dead_letter_requests.list_breakers)
    reset_breaker = _sends(build_monitoring_and_dead_letter_requests.reset_breaker)

    list_queues = _sends(build_queue_requests.list_queues)
    get_queue = _sends(build_queue_requests.get_queue)
    set_queue = _sends(build_queue_requests.set_queue)
    pause_queue = _sends(build_queue_requests.pause_queue)
    resume_queue = _sends(build_queue_requests.resume_queue)

    list_channels = _sends(build_channel_requests.list_channels)
    get_channel = _sends(build_channel_requests.get_channel)
    set_channel = _sends(build_channel_requests.set_channel)
    delete_channel = _sends(build_channel_requests.delete_channel)
    test_channel = _sends(build_channel_requests.test_channel)
    preview_channel = _sends(build_channel_requests.preview_channel)

    list_workers = _sends(build_worker_and_task_requests.list_workers)
    get_worker = _sends(build_worker_and_task_requests.get_worker)
    drain_worker = _sends(rest_worker_requests.drain_worker)
    list_tasks = _sends(build_worker_and_task_requests.list_tasks)
    get_task = _sends(build_worker_and_task_requests.get_task)
    declare_task = _sends(build_worker_and_task_requests.declare_task)
    disable_task = _sends(build_worker_and_task_requests.disable_task)
    enable_task = _sends(build_worker_and_task_requests.enable_task)
    retire_task = _sends(build_worker_and_task_requests.retire_task)

    register_worker = _sends(rest_worker_requests.register_worker)
    heartbeat_worker = _sends(rest_worker_requests.heartbeat_worker)
    claim_executions = _sends(rest_worker_requests.claim_executions)
    start_execution = _sends(rest_worker_requests.start_execution)
    report_progress = _sends(rest_worker_requests.report_progress)
    store_checkpoint = _sends(rest_worker_requests.store_checkpoint)
    recall_checkpoint = _sends(rest_worker_requests.recall_checkpoint)
    complete_execution = _sends(rest_worker_requests.complete_execution)
    fail_execution = _sends(rest_worker_requests.fail_execution)

    get_retention = _sends(build_retention_requests.get_retention)
    set_retention = _sends(build_retention_requests.set_retention)

    list_pings = _sends(build_ping_requests.list_pings)
    get_ping = _sends(build_ping_requests.get_ping)
    set_ping = _sends(build_ping_requests.set_ping)
    renew_ping_token = _sends(build_ping_requests.renew_ping_token)
    delete_ping = _sends(build_ping_requests.delete_ping)
    list_ping_history = _sends(build_ping_requests.list_ping_history)
    signal_ping = _sends(build_ping_requests.signal_ping)
    get_outside_ping = _sends(build_ping_requests.get_outside_ping)
    set_outside_ping = _sends(build_ping_requests.set_outside_ping)
    delete_outside_ping = _sends(build_ping_requests.delete_outside_ping)

    create_key = _sends(build_access_requests.create_key)
    list_keys = _sends(build_access_requests.list_keys)
    revoke_key = _sends(build_access_requests.revoke_key)
    list_tenants = _sends(build_access_requests.list_tenants)
    get_tenant = _sends(build_access_requests.get_tenant)
    purge_tenant = _sends(build_access_requests.purge_tenant)
    get_tenant_purge = _sends(build_access_requests.get_tenant_purge)
    get_signing_secret = _sends(build_access_requests.get_signing_secret)
    get_me = _sends(build_access_requests.get_me)
    create_sign_in_link = _sends(build_access_requests.create_sign_in_link)
    end_sessions = _sends(build_access_requests.end_sessions)

    async def iter_jobs(self, **filters: Unpack[JobFilters]) -> AsyncIterator[JobView]:
        """Every job that matches the filters of list_jobs, fetched page by page."""
        cursor: str | None = None
        while True:
            page = await self.list_jobs(**filters, cursor=cursor)
            for job in page.items:
                yield job
            cursor = page.next_cursor
            if cursor is None:
                return

    def follow_execution_logs(
        self, execution_id: str, *, attempt: int | None = None, tail: int | None = None
    ) -> AsyncIterator[LogEntry | AttemptProgress]:
        """Yield the log of the execution, from its beginning or from its last `tail` lines, then new lines and progress
        until it ends. After a lost connection it continues where it was."""
        call = build_requests.follow_logs(execution_id, attempt=attempt, tail=tail)
        return self._follow(LogFollower(call, self._retries))

    def follow_events(self, **wanted: Unpack[EventFilters]) -> AsyncIterator[StreamEvent]:
        """Yield what happens from now on, or after the event with the id `after`. It does not end, and after a lost
        connection it continues where it was, at any server."""
        return self._follow(
            EventFollower(build_monitoring_and_dead_letter_requests.follow_events(**wanted), self._retries)
        )

    async def _follow(self, follower: StreamFollower[Item]) -> AsyncIterator[Item]:
        while not follower.ended:
            try:
                async with self._http.stream(**follower.request()._asdict()) as response:
                    reply: Reply = response
                    if response.is_success:
                        async for received in response.aiter_bytes():
                            for item in follower.read(received):
                                yield item
                    else:
                        await response.aread()
            except httpx2.TransportError as error:
                reply = error
            if not follower.ended:
                await asyncio.sleep(follower.pause_after(reply))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run_steps(self, steps: Steps[Result]) -> Result:
        resume: Callable[[], Any] = partial(steps.send, None)
        while True:
            try:
                step = resume()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            try:
                resume = partial(steps.send, await self._do(step))
            except TickworkError as error:
                resume = partial(steps.throw, error)

    async def _do(self, step: Pause | HttpRequest | Call[Any]) -> Any:
        match step:
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case HttpRequest():
                return await self._send(step)
            case Call():
                return await self._run_steps(exchange(step, self._retries))

    async def _send(self, request: HttpRequest) -> Reply:
        try:
            return await self._http.request(**request._asdict())
        except httpx2.TransportError as error:
            return error
