"""`make freeze`: stores the migrations of this version, and a database that it has filled, before it is released.

From then on the migrations of the release never change, and every later version is tested with its database.
"""

import asyncio
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

from support.cluster import KEY, Cluster
from support.fill_database import GOES_ON, DatabaseFilling
from support.stored_release import RELEASES, Listed, StoredRelease
from tickwork import __version__
from tickwork.store.embedded.run_postgres_programs import output_of
from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.migration_file import migrations

_LISTS = (
    "jobs", "executions", "workflows", "dead-letters", "errors", "channels", "notification-rules", "notifications",
    "pings", "queues", "tasks", "keys", "breakers",
)  # fmt: skip
_HEADER = "-- Written by `make freeze`: the database of a release. It never changes.\n\n"
# What psql alone understands, what older servers do not know, and comments.
_NOISE = re.compile(r"^(--.*|\\(un)?restrict .*|SET transaction_timeout.*|)\n", re.MULTILINE)


async def freeze(url: str, work: Path, folder: Path) -> StoredRelease:
    """Fill the empty database, and store it and the migrations in the folder. `work`: for the files of processes."""
    connection = await asyncpg.connect(url)
    cluster = Cluster(url, work)
    target, target_url = await cluster.start_target()
    try:
        server = await cluster.add_server()
        await DatabaseFilling(cluster, target_url).fill(connection)
        assert await server.stop() == 0
        await server.start()  # again, so that nothing is on its way any more
        lists = await list_all(cluster.urls[0])
        assert await server.stop() == 0
        at = await connection.fetchval("SELECT tickwork.clock()")
    finally:
        cluster.clean_up()
        target.clean_up()
        await connection.close()
    release = StoredRelease(__version__, folder)
    release.write_checksums(migrations())
    release.write_listed(Listed(at, GOES_ON, lists))
    release.database.write_text(_dump(url), "utf-8")
    return release


async def list_all(url: str) -> dict[str, list[list[Any]]]:
    """Everything that the API lists, by its id or name and its status. The state of a breaker changes with time."""
    ahead = {"Authorization": f"Bearer {KEY}"}
    async with httpx2.AsyncClient(base_url=url, headers=ahead, trust_env=False, timeout=30) as client:
        return {path: await _items(client, f"/v1/{path}") for path in _LISTS}


async def _items(client: httpx2.AsyncClient, path: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    cursor = ""
    while True:
        answer = await client.get(path, params={"cursor": cursor} if cursor else {})
        answer.raise_for_status()
        page = answer.json()
        for item in page["items"]:
            name = item.get("id") or item.get("execution_id") or item.get("fingerprint") or item.get("name")
            found.append([name or item.get("destination"), item.get("status")])
        cursor = page.get("next_cursor")
        if not cursor:
            return sorted(found, key=str)


def _dump(url: str) -> str:
    """With inserts, which any connection can execute."""
    words = ("--schema=tickwork", "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=100")
    with output_of("pg_dump", *words, url) as output:
        text: str = output.read().decode()
    return _HEADER + _NOISE.sub("", text)


def main() -> None:
    folder = RELEASES / __version__
    if folder.exists():
        sys.exit(
            f"{__version__} is frozen: set __version__ to the next release; or, if it was never published, "
            f"delete {folder} and freeze again"
        )
    with tempfile.TemporaryDirectory(prefix="tickwork-freeze-") as work:
        postgres = EmbeddedPostgres(Path(work) / "data")
        url = postgres.start()
        try:
            folder.mkdir()
            asyncio.run(freeze(url, Path(work), folder))
        except BaseException:
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
            raise
        finally:
            postgres.stop()
    print(f"{__version__} is frozen in {folder}: commit it with the release")  # noqa: T201


if __name__ == "__main__":
    main()
