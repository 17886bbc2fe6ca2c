"""Settings of a database that differ from those that our sessions depend on."""

import asyncpg

from tickwork.store.connect_to_any_host import SETTINGS, WORK, Limits
from tickwork.store.pool import Connection

_OTHERWISE = {
    "jit": "on",
    "timezone": "Asia/Tokyo",
    "default_transaction_isolation": "serializable",
    "idle_session_timeout": "1h",
    "statement_timeout": "1h",
    "lock_timeout": "1h",
    "enable_seqscan": "on",
    "plan_cache_mode": "auto",
}


async def set_otherwise(connection: asyncpg.Connection) -> None:
    """For all sessions to come."""
    name = await connection.fetchval("SELECT current_database()")
    for setting, value in _OTHERWISE.items():
        await connection.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'")


async def differ(session: Connection, limits: Limits = WORK) -> dict[str, str]:
    """What is not as we set it, in an open transaction."""
    wanted = {**SETTINGS, **limits.settings(), "transaction_isolation": "read committed"}
    found = {name: await session.fetchval("SELECT current_setting($1)", name) for name in wanted}
    return {name: value for name, value in found.items() if value.lower() != wanted[name].lower()}
