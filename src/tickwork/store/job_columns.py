"""The columns of a job, each listed once. The statements that write jobs are built from the list."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from tickwork.model.access import Author
from tickwork.model.job import JobSpec
from tickwork.store.job_timing import JobTiming


class JobLane(NamedTuple):
    id: int
    is_bounded: bool  # its queue limits how many executions may wait


class JobRow(NamedTuple):
    """A job as it is about to be written."""

    id: int
    spec: JobSpec
    lane: JobLane
    timing: JobTiming
    followed: bool
    author: Author | None = None  # of a new job

    @property
    def created_by(self) -> int | None:
        return self.author.key_id if self.author else None

    @property
    def depends(self) -> bool:
        return bool(self.spec.parents)

    @property
    def tags(self) -> str:
        """An array as PostgreSQL writes it: jobs have different numbers of tags, so they do not fit into one array."""
        if not self.spec.request.tags:
            return "{}"
        escaped = (tag.replace("\\", "\\\\").replace('"', '\\"') for tag in self.spec.request.tags)
        return "{" + ",".join(f'"{tag}"' for tag in escaped) + "}"


class _Column(NamedTuple):
    name: str
    value: str  # the attribute of a JobRow
    sent_as: str
    kept_as: str | None = None  # if the column has another type

    @property
    def cast(self) -> str:
        return f"::{self.kept_as}" if self.kept_as else ""


# What the definition says: an edit or a replacement writes it again.
_DEFINED = (
    _Column("rule_id", "timing.rule_id", "bigint"),
    _Column("scheduled_for", "timing.scheduled_for", "timestamptz"),
    _Column("deferred", "timing.deferred", "boolean"),
    _Column("lane_id", "lane.id", "int"),
    _Column("timeout", "spec.timeout", "real"),
    _Column("warn_after", "spec.warn_after", "real"),
    _Column("overlap", "spec.request.overlap", "text", "tickwork.overlap"),
    _Column("priority", "spec.priority", "smallint"),
    _Column("task", "spec.task", "text"),
    _Column("payload", "spec.payload", "bytea"),
    _Column("target", "spec.target", "bytea"),
    _Column("name", "spec.request.name", "text"),
    _Column("key", "spec.request.key", "text"),
    _Column("tags", "tags", "text", "text[]"),
    _Column("description", "spec.request.description", "text"),
    _Column("owner", "spec.request.owner", "text"),
    _Column("definition", "spec.definition", "bytea"),
    _Column("trace_origin", "spec.trace_origin", "text"),
)
# What is written with a new job, and changed only by other statements later.
_OF_NEW = (
    *_DEFINED,
    _Column("active_until", "timing.until", "timestamptz"),
    _Column("followed", "followed", "boolean"),
    _Column("depends", "depends", "boolean"),
    _Column("created_by", "created_by", "int"),
)


def _insert() -> str:
    """$1: tenant, $2: now, $3: ids; then the columns. See queries/README.md for `unnest` and `each`."""
    names = ", ".join(column.name for column in _OF_NEW)
    numbered = list(enumerate(_OF_NEW, start=4))
    values = ", ".join(
        f"tickwork.each(${number}::{column.sent_as}[], {column.name}){column.cast}"
        for number, column in numbered
    )
    arrays = ", ".join(f"${number}::{column.sent_as}[]" for number, column in numbered)
    return (
        "/* insert_jobs */ INSERT INTO tickwork.job "  # noqa: S608 (made of nothing but the list above)
        f"(tenant_id, active_from, created_at, updated_at, id, {names}) "
        f"SELECT $1, $2, $2, $2, id, {values} FROM unnest($3::bigint[], {arrays}) AS sent (id, {names})"
    )


def _update() -> str:
    """$1: tenant, $2: id, $3: status, $4: whether the timing is new, and then $5: the last due time, $6: the number of
    runs; then the columns."""
    values = ", ".join(
        f"{column.name} = ${number}::{column.sent_as}{column.cast}"
        for number, column in enumerate(_DEFINED, start=7)
    )
    return (
        "/* change_job */ UPDATE tickwork.job SET "  # noqa: S608 (made of nothing but the list above)
        f"{values}, status = $3, version = version + 1, "
        "updated_at = tickwork.clock(), "
        "active_from = CASE WHEN $4 THEN tickwork.clock() ELSE active_from END, "
        "active_until = CASE WHEN $4 THEN $5 ELSE active_until END, "
        "runs_left = CASE WHEN $4 THEN $6 ELSE runs_left END "
        "WHERE tenant_id = $1 AND id = $2"
    )


INSERT_JOBS = _insert()
CHANGE_JOB = _update()
_ValuesOf = Callable[[JobRow], Sequence[Any]]
# The parameters of INSERT_JOBS from $3 on, and of CHANGE_JOB from $7 on.
values_of_new: _ValuesOf = attrgetter("id", *(column.value for column in _OF_NEW))
values_of_changed: _ValuesOf = attrgetter(*(column.value for column in _DEFINED))
