"""/tasks: the tasks that workers offer."""

from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import Scope
from tickwork.model.field_types import Page
from tickwork.model.task import TaskView


async def list_tasks(call: Call[NoQuery, None]) -> Reply:
    """List tasks with their parameters and the workers that offer them."""
    return json_reply(Page(await call.node.tasks.list(call.tenant_id)))


ROUTES = (Route("GET", "/v1/tasks", list_tasks, Scope.READ, Page[TaskView]),)
