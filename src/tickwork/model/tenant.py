"""Tenants as the admins of an installation see them, and how far the deletion of one has come."""

from typing import Literal

import msgspec

from tickwork.model.field_types import Instant
from tickwork.model.job_change_record import ChangeAuthor

MOST_COUNTED = 100_000


class TenantView(msgspec.Struct, frozen=True, kw_only=True):
    """An owner of jobs, keys and history. It comes to be with its first API key."""

    name: str
    created_at: Instant
    keys: int  # valid ones
    is_being_purged: bool


class TenantContents(msgspec.Struct, frozen=True, kw_only=True):
    """What a tenant has in the database, and would lose by a purge. What is in the archive is not counted."""

    name: str
    counts: dict[str, int]  # jobs, executions, events and so on, each up to 100,000
    at_least: list[str]  # those of which there may be more
    is_in_archive: bool  # there is an archive, which may have something of the tenant, too


class TenantPurgeView(msgspec.Struct, frozen=True, kw_only=True):
    """How far the purge of a tenant has come. Nobody can use its keys from the beginning."""

    name: str
    status: Literal["running", "completed"]
    requested_at: Instant
    requested_by: ChangeAuthor | None
    ended_at: Instant | None
    removed: dict[str, int]  # how many so far: jobs, executions, events and so on
    is_in_archive: bool  # the archive may still have something of it: its files are written anew
