"""/overview: how things stand, in one answer."""

from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import Scope
from tickwork.model.overview import OverviewView


async def get_overview(call: Call[NoQuery, None]) -> Reply:
    """Show how things stand: what ran in the last 24 hours, what fails, what waits, and what comes next.

    It comes from statistics and from what is out of the ordinary, and is quick however many jobs there are.
    """
    return json_reply(await call.node.overview.view(call.tenant_id))


ROUTES = (Route("GET", "/v1/overview", get_overview, Scope.READ, OverviewView, may_be_stale=True),)
