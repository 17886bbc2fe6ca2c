"""/tenants: list the tenants of the installation, and delete one with everything that it has."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import DEFAULT_TENANT, Caller, Scope
from tickwork.model.errors import NotAllowed
from tickwork.model.field_types import Page
from tickwork.model.tenant import TenantContents, TenantPurgeView, TenantView


class PurgeTenantQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    confirm: Annotated[str, Meta(max_length=100, description="the name of the tenant once more")] | None = (
        None
    )


async def list_tenants(call: Call[NoQuery, None]) -> Reply:
    """List all tenants, by name. A tenant comes to be with its first API key: see POST /keys.

    The key must be an admin key of the tenant `default`.
    """
    _check_operator(call.caller)
    return json_reply(Page(await call.node.tenants.list()))


async def get_tenant(call: Call[NoQuery, None]) -> Reply:
    """Show what a tenant has, and would lose if it were deleted.

    Each is counted up to 100,000. The key must be an admin key of the tenant `default`.
    """
    _check_operator(call.caller)
    return json_reply(await call.node.tenants.contents(call.path["name"]))


async def purge_tenant(call: Call[PurgeTenantQuery, None]) -> Reply:
    """Delete a tenant for good, with everything that it has, in the archive, too.

    `confirm` must repeat its name; see GET /tenants/{name} for what is deleted. From the answer on its keys are
    revoked, and what waits or runs of it is cancelled soon. The answer is 200 when everything is gone from the
    database, and 202 when the rest is deleted in the background: see GET /tenants/{name}/purge. The request can be
    repeated. The tenant `default` cannot be deleted. The key must be an admin key of the tenant `default`.
    """
    _check_operator(call.caller)
    purge = await call.node.tenants.purge(call.path["name"], call.query.confirm, call.caller.author)
    location = {"location": f"/v1/tenants/{purge.name}/purge"}
    return json_reply(purge, 200 if purge.status == "completed" else 202, location)


async def get_tenant_purge(call: Call[NoQuery, None]) -> Reply:
    """Show how far the deletion of a tenant has come.

    It is known for as long as the history is kept. The key must be an admin key of the tenant `default`.
    """
    _check_operator(call.caller)
    return json_reply(await call.node.tenants.progress(call.path["name"]))


def _check_operator(caller: Caller) -> None:
    if caller.tenant != DEFAULT_TENANT:
        raise NotAllowed(f"tenants are managed by the installation; use a key of the tenant {DEFAULT_TENANT}")


ROUTES = (
    Route("GET", "/v1/tenants", list_tenants, Scope.ADMIN, Page[TenantView]),
    Route("GET", "/v1/tenants/{name}", get_tenant, Scope.ADMIN, TenantContents),
    Route(
        "DELETE",
        "/v1/tenants/{name}",
        purge_tenant,
        Scope.ADMIN,
        TenantPurgeView,
        query=PurgeTenantQuery,
        problems=(CONFLICT,),
        also=((202, TenantPurgeView),),
    ),
    Route("GET", "/v1/tenants/{name}/purge", get_tenant_purge, Scope.ADMIN, TenantPurgeView),
)
