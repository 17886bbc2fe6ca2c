"""What must hold after failovers, besides all that a chaos run is checked for."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import asyncpg
import msgspec

from support.attempt_ledger import Run
from support.failover_probes import AcceptedJob
from tickwork.model.public_ids import parse_job_id

_JOBS = "SELECT id, key FROM tickwork.job WHERE id = ANY($1::bigint[])"
_FAILOVERS = "SELECT loss, count(*) AS number FROM tickwork.failover GROUP BY loss"
_LOST = "SELECT detail FROM tickwork.event WHERE kind = 'commits.lost' ORDER BY number"


class AfterFailovers(NamedTuple):
    vanished: list[str]  # accepted jobs that are not there
    told: set[str]  # vanished jobs that nodes have told of
    strangers: list[str]  # accepted jobs whose id is another job's now
    noticed: dict[str, int]  # failovers, by loss

    def findings(self, *, synchronous: bool) -> Iterator[str]:
        for job in self.strangers:
            yield f"the id {job} was given out twice"
        if synchronous and self.vanished:
            yield f"{len(self.vanished)} accepted jobs are lost: {self.vanished[:5]}"
        if synchronous and self.noticed.get("certain"):
            yield "commits are said to be lost, which must not be"
        for job in self.vanished:
            if not synchronous and job not in self.told:
                yield f"the accepted job {job} has vanished, and no node has told of it"


async def look(connection: asyncpg.Connection, accepted: Sequence[AcceptedJob]) -> AfterFailovers:
    rows = await connection.fetch(_JOBS, [parse_job_id(job.id) for job in accepted])
    keys = {row["id"]: row["key"] for row in rows}
    details = [msgspec.json.decode(row["detail"]) for row in await connection.fetch(_LOST)]
    return AfterFailovers(
        vanished=[job.id for job in accepted if parse_job_id(job.id) not in keys],
        told={job for detail in details for job in detail["vanished_jobs"]},
        strangers=[job.id for job in accepted if keys.get(parse_job_id(job.id), job.key) != job.key],
        noticed={row["loss"]: row["number"] for row in await connection.fetch(_FAILOVERS)},
    )


def begun_twice(runs: Sequence[Run]) -> list[str]:
    """Attempts whose number was given out for two claims."""
    counted = Counter((run.task, run.attempt) for run in runs)
    return [
        f"{attempt} of {task} began {number} times"
        for (task, attempt), number in counted.items()
        if number > 1
    ]
