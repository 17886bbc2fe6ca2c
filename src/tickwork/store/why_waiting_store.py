"""Reads everything that can make an execution wait."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg
import msgspec

from tickwork.model.command_allow_list import allows
from tickwork.model.deadline import deadline_from_text
from tickwork.model.errors import NotFound
from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.http_target import HttpTarget, destination_of
from tickwork.model.job import HTTP_TASK
from tickwork.model.public_ids import execution_id, job_id, worker_id
from tickwork.model.quantities import parse_rate
from tickwork.model.requires_limits_fair_share import Limit, Placement, placement_from_text
from tickwork.model.task import BUILT_IN_TASKS
from tickwork.model.why_waiting import (
    AHEAD_LIMIT,
    MOST_NAMED,
    DisabledTask,
    FailingDestination,
    LimitInForce,
    LiveWorker,
    NamedWorker,
    OtherExecution,
    TargetWait,
    WaitingFacts,
)
from tickwork.model.worker import LEASE, WITH_TARGET
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_MOST_WORKERS = 1000
_MOST_AWAITED = 20_000
_BADLY_ENDED = (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED, ExecutionStatus.SKIPPED)


class PostgresWhyWaitingStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("why_waiting")

    async def facts(self, tenant_id: int, job: int, scheduled_for: datetime) -> WaitingFacts:
        row = await self._database.fetchrow(self._sql["execution_facts"], tenant_id, scheduled_for, job)
        if row is None:
            raise NotFound("execution", execution_id(job, scheduled_for))
        facts = _facts(row, job)
        if row["worker_id"] == WITH_TARGET:
            wait = await self._database.fetchrow(
                queries("callback_wait")["find_wait"], tenant_id, scheduled_for, job
            )
            return facts._replace(target=TargetWait(*wait) if wait else None)
        if facts.status is not ExecutionStatus.PENDING or facts.worker:
            return facts
        return await self._with_causes(facts, row, ExecutionKey(tenant_id, scheduled_for, job))

    async def _with_causes(self, facts: WaitingFacts, row: asyncpg.Record, key: ExecutionKey) -> WaitingFacts:
        limiters = await self._limiters(key.tenant_id, facts)
        queue = limiters.get(("queue", facts.queue))
        parents = await self._awaited_parents(key) if facts.is_suspended else []
        facts = await self._with_task_and_worker(facts, key)
        return facts._replace(
            parents=[_other(each) for each in parents if each["is_parent"]],
            roots=list({_other(each): None for each in parents if each["status"] in _BADLY_ENDED}),
            queue_paused=queue is not None and queue["paused"],
            breaker=await self._breaker(key, row),
            limits=[
                await self._limit(limiters[kind, limit.key], limit)
                for kind, limit in _limits(facts.placement, queue)
                if (kind, limit.key) in limiters
            ],
            workers=await self._workers(key.tenant_id, facts),
            ahead=await self._ahead(row),
        )

    async def _with_task_and_worker(self, facts: WaitingFacts, key: ExecutionKey) -> WaitingFacts:
        (task,) = await self._database.fetch(self._sql["task_state"], key.tenant_id, facts.task, key.job_id)
        named = facts.placement.worker
        return facts._replace(
            task_is_known=task["is_known"] or facts.task in BUILT_IN_TASKS,
            disabled=DisabledTask(task["disabled_at"], task["disabled_by"], task["disabled_reason"])
            if task["disabled_at"]
            else None,
            mismatch=task["mismatch"] if facts.placement.awaits_task else None,
            named_worker=NamedWorker(named, await self._last_seen(key.tenant_id, named)) if named else None,
        )

    async def _last_seen(self, tenant_id: int, worker: str) -> datetime | None:
        (row,) = await self._database.fetch(self._sql["last_seen"], tenant_id, worker)
        return row["lease_until"] - LEASE if row["lease_until"] else None

    async def _awaited_parents(self, key: ExecutionKey) -> list[asyncpg.Record]:
        return await self._database.fetch(
            self._sql["awaited_parents"], key.job_id, key.scheduled_for, _MOST_AWAITED
        )

    async def _limiters(self, tenant_id: int, facts: WaitingFacts) -> dict[tuple[str, str], asyncpg.Record]:
        keys = [limit.key for limit in facts.placement.limits]
        rows = await self._database.fetch(self._sql["limiters_of_lane"], tenant_id, facts.queue, keys)
        return {(row["kind"], row["name"]): row for row in rows}

    async def _limit(self, limiter: asyncpg.Record, limit: Limit) -> LimitInForce:
        rows = await self._database.fetch(
            queries("lease_under_limits")["running_by_limiter"], [limiter["id"]]
        )
        holders = await self._database.fetch(self._sql["running_under_limiter"], limiter["id"], MOST_NAMED)
        return LimitInForce(
            kind=limiter["kind"],
            name=limiter["name"],
            max_running=limit.max_running,
            rate=parse_rate(limit.rate) if limit.rate else None,
            running=rows[0]["running"] if rows else 0,
            holders=[execution_id(*holder) for holder in holders],
            used_until=limiter["used_until"],
            max_workers=limiter["max_workers"],
            workers=await self._workers_under(limiter) if limiter["max_workers"] else (),
        )

    async def _workers_under(self, limiter: asyncpg.Record) -> list[str]:
        rows = await self._database.fetch(
            queries("lease_under_limits")["workers_by_limiter"], [limiter["id"]]
        )
        return [worker_id(row["worker_id"]) for row in rows]

    async def _breaker(self, key: ExecutionKey, row: asyncpg.Record) -> FailingDestination | None:
        if not row["is_suspended"] or row["task"] != HTTP_TASK or row["target"] is None:
            return None
        destination = destination_of(msgspec.json.decode(row["target"], type=HttpTarget).url)
        held = await self._database.fetchrow(
            self._sql["breaker_of_execution"],
            key.tenant_id,
            destination,
            row["priority"],
            key.scheduled_for,
            key.job_id,
        )
        return FailingDestination(*held) if held else None

    async def _workers(self, tenant_id: int, facts: WaitingFacts) -> list[LiveWorker]:
        rows = await self._database.fetch(
            self._sql["candidate_workers"], tenant_id, facts.task, _MOST_WORKERS
        )
        offering = {row["id"] for row in rows if _offers(row, facts.placement.program)}
        holding = await self._database.fetch(self._sql["running_by_worker"], [*offering])
        return [
            _worker(row, row["id"] in offering, [held for held in holding if held["worker_id"] == row["id"]])
            for row in rows
        ]

    async def _ahead(self, row: asyncpg.Record) -> int:
        if row["ready_at"] is None:
            return 0
        (found,) = await self._database.fetch(
            self._sql["count_ahead"], row["lane_id"], row["priority"], row["ready_at"], AHEAD_LIMIT + 1
        )
        ahead: int = found["ahead"]
        return ahead


def _facts(row: asyncpg.Record, job: int) -> WaitingFacts:
    status = ExecutionStatus(row["status"])
    placement = placement_from_text(row["placement"])
    may_wait = placement.start_within if row["is_untried"] and status is ExecutionStatus.PENDING else None
    is_early = status is ExecutionStatus.RUNNING and row["scheduled_for"] > row["now"]
    blocker = row["blocked_by"] if not status.ended else None
    return WaitingFacts(
        now=row["now"],
        status=ExecutionStatus.PENDING if is_early else status,
        due_at=row["ready_at"] or row["scheduled_for"],
        attempt=row["attempt"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        reason=row["reason"],
        worker=row["worker"],
        task=row["task"],
        queue=row["queue"],
        placement=placement,
        job=job_id(job),
        job_paused=row["job_paused"],
        queue_paused=False,
        is_suspended=row["is_suspended"],
        blocker=OtherExecution(execution_id(job, blocker), row["blocker_status"]) if blocker else None,
        deadline=deadline_from_text(placement.deadline).of(row["scheduled_for"])
        if placement.deadline
        else None,
        give_up_at=None if may_wait is None else row["scheduled_for"] + timedelta(seconds=may_wait),
    )


def _other(row: asyncpg.Record) -> OtherExecution:
    return OtherExecution(execution_id(row["parent_id"], row["parent_at"]), row["status"])


def _limits(placement: Placement, queue: asyncpg.Record | None) -> list[tuple[str, Limit]]:
    """The limits of its queue, and its own limits by key."""
    own = [("key", limit) for limit in placement.limits]
    if queue is None:
        return own
    return [("queue", Limit(queue["name"], queue["max_running"], queue["rate"])), *own]


def _offers(row: asyncpg.Record, program: str | None) -> bool:
    return row["offers_task"] if program is None else allows(row["commands"], program)


def _worker(row: asyncpg.Record, offers_task: bool, holding: Sequence[asyncpg.Record]) -> LiveWorker:
    used: defaultdict[str, float] = defaultdict(float)
    for held in holding:
        for name, amount in placement_from_text(held["placement"]).resources.items():
            used[name] += held["count"] * amount
    return LiveWorker(
        id=worker_id(row["id"]),
        name=row["name"],
        offers_task=offers_task,
        queues=row["queues"],
        labels=msgspec.json.decode(row["labels"]),
        resources=msgspec.json.decode(row["resources"]),
        used=used,
        slots=row["slots"],
        holding=sum(held["count"] for held in holding),
        draining=row["draining"],
        commands=row["commands"],
    )
