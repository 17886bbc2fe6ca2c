"""Deliveries as the notifier creates them: one-time jobs of the system's own tenant."""

import msgspec

from tickwork.define.compile_job import Compiler
from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.notification_message import NotificationMessage
from tickwork.node import Node
from tickwork.store.create_and_change_job import PostgresJobStore
from tickwork.store.tenant_and_key_store import PostgresAccessStore

QUEUE = "notifications"


async def create_delivery(node: Node, message: NotificationMessage, **retry: object) -> int:
    """The id of the job that delivers the message. `retry`: its retry policy."""
    database = node._database
    tenant_id = await PostgresAccessStore(database).ensure_tenant("system", "whsec_")
    policy = RetryRequest(**{"max_attempts": 4, "initial": "10ms", "jitter": 0.0, **retry})  # type: ignore[arg-type]
    request = JobRequest(task="placeholder", payload=msgspec.to_builtins(message), queue=QUEUE, retry=policy)
    spec = Compiler(await database.now()).compile(request)
    definition = msgspec.json.decode(spec.definition) | {"task": NOTIFY_TASK}
    spec = msgspec.structs.replace(spec, task=NOTIFY_TASK, definition=msgspec.json.encode(definition))
    (made,) = await PostgresJobStore(database, node._partitions.horizon).create(tenant_id, [spec])
    node._wake.claim()
    return made.job
