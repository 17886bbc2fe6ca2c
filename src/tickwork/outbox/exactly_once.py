"""Commits an execution's effect on the user's PostgreSQL together with a row that says that it is done.

The row's primary key is the execution's id. A later attempt finds the row and gets its result instead of doing the work
again. An attempt that starts while an earlier one is still working waits for its commit or rollback, because the row
is inserted before the work begins.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

import msgspec

from tickwork.model.execution import RESULT_LIMIT
from tickwork.model.python_values_to_json import encode
from tickwork.model.task_context import Context
from tickwork.model.task_exceptions import NoRetry
from tickwork.outbox.database_driver import AsyncDriver, Driver, async_driver_of, driver_of

P = ParamSpec("P")
Connection = TypeVar("Connection")

# PostgreSQL refuses this outside of a transaction. On a connection in autocommit mode, the row would be committed
# before the effect.
_REQUIRE_TRANSACTION = "LOCK TABLE tickwork_outbox.done IN ROW EXCLUSIVE MODE"
_BEGIN = """
INSERT INTO tickwork_outbox.done (execution_id) VALUES (CAST({} AS text))
ON CONFLICT DO NOTHING RETURNING execution_id
"""
_FINISH = """
UPDATE tickwork_outbox.done SET result = CAST(CAST({} AS text) AS json) WHERE execution_id = CAST({} AS text)
"""
_RECORDED = "SELECT CAST(result AS text) FROM tickwork_outbox.done WHERE execution_id = CAST({} AS text)"

_used: "WeakSet[Context]" = WeakSet()


def once(
    ctx: Context,
    connection: Connection,
    work: Callable[Concatenate[Connection, P], object],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Any:
    """Call work(connection, …) in its own transaction, once per execution: of all attempts, exactly one commits.
    Returns what `work` returned in that attempt, decoded from JSON."""
    driver = driver_of(connection)
    _check(ctx, driver)
    with driver.transaction():
        driver.value(_REQUIRE_TRANSACTION)
        if driver.value(_BEGIN, ctx.execution_id):
            result = _encoded(work(connection, *args, **kwargs))
            driver.value(_FINISH, result, ctx.execution_id)
        else:
            result = driver.value(_RECORDED, ctx.execution_id)
    return _mark_used(ctx, result)


async def once_async(
    ctx: Context,
    connection: Connection,
    work: Callable[Concatenate[Connection, P], Awaitable[object]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Any:
    """The same for async code."""
    driver = async_driver_of(connection)
    _check(ctx, driver)
    async with driver.transaction():
        await driver.value(_REQUIRE_TRANSACTION)
        if await driver.value(_BEGIN, ctx.execution_id):
            result = _encoded(await work(connection, *args, **kwargs))
            await driver.value(_FINISH, result, ctx.execution_id)
        else:
            result = await driver.value(_RECORDED, ctx.execution_id)
    return _mark_used(ctx, result)


def _check(ctx: Context, driver: Driver | AsyncDriver) -> None:
    if ctx in _used:
        raise NoRetry(
            "once was already called in this attempt: an execution has one transaction, so do all work in it"
        )
    if driver.in_transaction():
        raise NoRetry(
            "once begins and commits the transaction itself: call it while none is open on the connection"
        )


def _encoded(result: object) -> str:
    """An invalid result must fail before the effect is committed."""
    try:
        text = encode(result)
    except (TypeError, ValueError, RecursionError) as error:
        raise NoRetry(f"the result cannot be written as JSON: {error}") from None
    if len(text) > RESULT_LIMIT:
        raise NoRetry(f"the result has {len(text)} bytes of JSON; the limit is {RESULT_LIMIT}")
    return text.decode()


def _mark_used(ctx: Context, result: str) -> Any:
    _used.add(ctx)
    return msgspec.json.decode(result)
