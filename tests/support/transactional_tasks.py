"""Tasks with an effect on a PostgreSQL of their own: `tickwork worker support.transactional_tasks:app`."""

import asyncio
import os
from pathlib import Path

import asyncpg

from tickwork import App, Context
from tickwork.outbox import once_async

DATABASE_VARIABLE = "OWN_DATABASE_URL"
POINTS = ("before the transaction", "before the effect", "after the effect", "after the commit", "nowhere")

app = App()


@app.task(name="pay")
async def pay(point: str, parked: str, *, ctx: Context) -> str:
    """The first attempt stops for good at the given point, and tells by a file that it is there."""

    async def reach(here: str) -> None:
        if ctx.attempt == 1 and here == point:
            (Path(parked) / ctx.execution_id).touch()
            await asyncio.Event().wait()

    async def effect(connection: asyncpg.Connection) -> str:
        await reach("before the effect")
        await connection.execute("INSERT INTO effect (execution_id) VALUES ($1)", ctx.execution_id)
        await reach("after the effect")
        return f"paid by attempt {ctx.attempt}"

    connection = await asyncpg.connect(os.environ[DATABASE_VARIABLE])
    try:
        await reach("before the transaction")
        result = await once_async(ctx, connection, effect)
        await reach("after the commit")
    finally:
        connection.terminate()
    return result
