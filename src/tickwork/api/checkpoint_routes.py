"""/executions/{id}/checkpoint: what the attempts of an execution have stored, for the attempts after them."""

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import Scope
from tickwork.model.checkpoint import CheckpointView
from tickwork.model.public_ids import parse_execution_id


async def get_checkpoint(call: Call[NoQuery, None]) -> Reply:
    """Show what the attempts of an execution have stored: the steps that are done, and the latest state.

    The next attempt goes on from there, also when somebody retries or redrives the execution.
    """
    return json_reply(await call.node.checkpoints.view(call.tenant_id, *call.id(parse_execution_id)))


async def delete_checkpoint(call: Call[NoQuery, None]) -> Reply:
    """Delete what the attempts of an execution have stored, so that its next attempt starts from the beginning.

    Not while an attempt runs, and not of an execution that has completed. Retry one that failed or was cancelled after
    this.
    """
    return json_reply(await call.node.checkpoints.delete(call.tenant_id, *call.id(parse_execution_id)))


_PATH = "/v1/executions/{id}/checkpoint"

ROUTES = (
    Route("GET", _PATH, get_checkpoint, Scope.READ, CheckpointView),
    Route("DELETE", _PATH, delete_checkpoint, Scope.WRITE, CheckpointView, problems=(CONFLICT,)),
)
