"""Requests about how much history is kept."""

import msgspec

from tickwork.client.build_requests import Call, get
from tickwork.model.field_types import Duration
from tickwork.model.retention import Retention, TenantRetention


def get_retention() -> Call[TenantRetention]:
    """How much history is kept of the tenant's jobs, unless they or their queues say otherwise."""
    return get("retention", answer=TenantRetention)


def set_retention(*, age: Duration | None = None, last: int | None = None) -> Call[TenantRetention]:
    """Set how long executions are kept after their end, and how many of each job. What is not given is not limited."""
    body = msgspec.json.encode(Retention(age, last))
    return Call(method="PUT", path=("retention",), answer=TenantRetention, body=body)
