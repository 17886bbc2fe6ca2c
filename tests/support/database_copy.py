"""Databases of their own for tests, copied from one that is ready."""

import itertools

import asyncpg

_numbers = itertools.count(1)


async def create_database(cluster: str) -> str:
    """The URL of a new one."""
    name = f"test_{next(_numbers)}"
    await _admin(cluster, f"CREATE DATABASE {name} TEMPLATE tickwork")
    return cluster.replace("/tickwork?", f"/{name}?")


async def drop_database(cluster: str, url: str) -> None:
    before, after = cluster.split("/tickwork?")
    name = url.removeprefix(f"{before}/").removesuffix(f"?{after}")
    await _admin(cluster, f"DROP DATABASE {name} WITH (FORCE)")


async def _admin(cluster: str, command: str) -> None:
    connection = await asyncpg.connect(cluster.replace("/tickwork?", "/postgres?"))
    try:
        await connection.execute(command)
    finally:
        await connection.close()
