"""What is done to the primary of a highly available PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from support.patroni_cluster import PatroniCluster, PatroniNode
from support.waiting import eventually

_REPLACED_WITHIN = 120.0
_BRIEF, _LONG = 8.0, 35.0  # seconds: shorter and longer than Patroni waits
_LAG = 1.5  # seconds of commits that the standbys do not get

Strike = Callable[[PatroniCluster, PatroniNode, Random], Awaitable[None]]


async def switchover(cluster: PatroniCluster, primary: PatroniNode, _: Random) -> None:
    await cluster.switch_over(primary)


async def postgres_killed(cluster: PatroniCluster, primary: PatroniNode, _: Random) -> None:
    primary.kill_postgres()
    await _replaced(cluster, primary)


async def node_killed(cluster: PatroniCluster, primary: PatroniNode, _: Random) -> None:
    primary.kill()
    await _replaced(cluster, primary)
    primary.start()


async def frozen_briefly(cluster: PatroniCluster, primary: PatroniNode, _: Random) -> None:
    with primary.frozen():
        await asyncio.sleep(_BRIEF)


async def frozen(cluster: PatroniCluster, primary: PatroniNode, random: Random) -> None:
    """Until another has taken over, or twice as long: then it wakes up and believes that it is the primary."""
    with primary.frozen():
        await _replaced(cluster, primary)
        await asyncio.sleep(random.choice((0.0, _LONG)))


async def standby_frozen(cluster: PatroniCluster, primary: PatroniNode, random: Random) -> None:
    """Commits wait for it if it is the synchronous one."""
    standby = random.choice([node for node in cluster.nodes if node is not primary])
    with standby.frozen():
        await asyncio.sleep(_BRIEF)


async def killed_ahead_of_standbys(cluster: PatroniCluster, primary: PatroniNode, _: Random) -> None:
    """The last commits are on no other server."""
    standbys = [node for node in cluster.nodes if node is not primary]
    for node in standbys:
        node.kill()
    await asyncio.sleep(_LAG)
    primary.kill()
    for node in standbys:
        node.start()
    await _replaced(cluster, primary)
    primary.start()


SYNCHRONOUS: dict[str, Strike] = {
    "switchover": switchover,
    "postgres killed": postgres_killed,
    "node killed": node_killed,
    "frozen briefly": frozen_briefly,
    "frozen": frozen,
    "standby frozen": standby_frozen,
}
ASYNCHRONOUS: dict[str, Strike] = {
    "switchover": switchover,
    "postgres killed": postgres_killed,
    "node killed": node_killed,
    "frozen": frozen,
    "killed ahead of standbys": killed_ahead_of_standbys,
}


async def _replaced(cluster: PatroniCluster, primary: PatroniNode) -> None:
    async def another() -> bool:
        found = await cluster.primary()
        return found is not None and found is not primary

    await eventually(another, within=_REPLACED_WITHIN, what="another primary")
