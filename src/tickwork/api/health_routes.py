"""/livez, /readyz and /metrics: whether the process is alive, whether the node is ready, and its metrics."""

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tickwork.api.problem import UNAVAILABLE, Refusal
from tickwork.api.reply import PLAIN, Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import DEFAULT_TENANT, Scope
from tickwork.model.errors import NotAllowed


class Life(msgspec.Struct, frozen=True):
    alive: bool


class Readiness(msgspec.Struct, frozen=True):
    ready: bool
    checks: dict[str, bool]


async def livez(_call: Call[None, None]) -> Reply:
    """Say that the process is alive."""
    return json_reply(Life(alive=True))


async def readyz(call: Call[None, None]) -> Reply:
    """Say whether the node is ready: 200 or 503.

    503 when the database cannot be reached, or one of the node's loops keeps failing or is stuck in a step.
    """
    health = call.node.health()
    if not call.node.ready():
        failed = ", ".join(f"{name} {wrong}".strip() for name, wrong in health.items() if wrong is not None)
        raise Refusal(UNAVAILABLE, f"not ready: {failed or 'starting or stopping'}")
    return json_reply(Readiness(ready=True, checks=dict.fromkeys(health, True)))


async def metrics(call: Call[NoQuery, None]) -> Reply:
    """Give the metrics of this node in the Prometheus text format.

    They cover every tenant, so the key must be one of the tenant `default`.
    """
    if call.caller.tenant != DEFAULT_TENANT:
        raise NotAllowed(f"metrics cover every tenant; use a key of the tenant {DEFAULT_TENANT}")
    await call.node.metrics.measure()
    return Reply(200, generate_latest(), {"content-type": CONTENT_TYPE_LATEST})


ROUTES = (
    Route("GET", "/livez", livez, None, Life, query=None),
    Route("GET", "/readyz", readyz, None, Readiness, query=None, problems=(UNAVAILABLE,)),
    Route("GET", "/metrics", metrics, Scope.READ, None, media=PLAIN, answers_in_outage=True),
)
