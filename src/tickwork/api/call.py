"""A request that was read and checked, as the handlers get it."""

import re
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from tickwork.api.head import RawHeaders
from tickwork.api.node import ServerNode
from tickwork.api.problem import NOT_FOUND, Refusal
from tickwork.model.errors import BadId, Invalid, NotFound, Stale
from tickwork.model.ids import job_key, parse_job_id
from tickwork.model.tenancy import Caller

Query = TypeVar("Query")
Body = TypeVar("Body")
Number = TypeVar("Number")

SENT_SLASH = "\ue000"  # stands in a path for %2F
_VERSION = re.compile(rb'"(\d{1,18})"')


class Call(NamedTuple, Generic[Query, Body]):
    node: ServerNode
    caller: Caller
    headers: RawHeaders
    path: Mapping[str, str]
    query: Query
    body: Body

    @property
    def tenant_id(self) -> int:
        return self.caller.tenant_id

    def id(self, parse: Callable[[str], Number]) -> Number:
        """The id in the path. A thing that cannot be named is a thing that does not exist."""
        try:
            return parse(self.path["id"])
        except BadId as error:
            raise Refusal(NOT_FOUND, error.errors[0].message) from None

    async def job(self) -> int:
        """The job in the path, by its id or as key:NAME."""
        key = job_key(self.path["id"].replace(SENT_SLASH, "/"))
        if key is None:
            return self.id(parse_job_id)
        return await self.node.jobs.find(self.tenant_id, key)

    async def job_in(self, name: str | None) -> int | None:
        """The job that a field or filter called `job` names, if it does."""
        key = job_key(name or "")
        if name is None or key is None:
            return parse_job_id(name) if name else None
        try:
            return await self.node.jobs.find(self.tenant_id, key)
        except NotFound:
            raise Invalid.field("job", f"no job has the key {key!r}") from None

    def if_match(self) -> int | None:
        """The version that the change is meant for; None when any will do."""
        header = self.headers.get(b"if-match", b"*").strip()
        if header == b"*":
            return None
        version = _VERSION.fullmatch(header)
        if version is None:
            raise Stale("If-Match names no version of this job; use the ETag of its latest answer")
        return int(version[1])
