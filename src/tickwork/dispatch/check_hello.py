"""What is wrong with the Hello of a worker, beyond what decoding it has checked."""

from collections.abc import Sequence

import msgspec

from tickwork.model.json_limits import json_error
from tickwork.model.task import BUILT_IN_TASKS
from tickwork.model.worker_protocol import OLDEST_PROTOCOL, PROTOCOL, FromWorker, Hello

_MOST_HELLO_BYTES = 1024 * 1024  # of each of these fields, as JSON
_CHECKED_FIELDS = ("name", "host", "version", "tasks", "labels", "resources", "commands")


def hello_problem(tenant_id: int | None, hello: Hello) -> str | None:
    """What decoding does not check: the protocol, size and NUL characters of what is stored, and task names."""
    if problem := _protocol_problem(hello):
        return problem
    if problem := json_problem(hello, _CHECKED_FIELDS):
        return problem
    names = [offer.name for offer in hello.tasks]
    if len({*names}) < len(names):
        return "tasks: name each task once"
    taken = [name for name in names if name in BUILT_IN_TASKS] if tenant_id is not None else []
    if taken:
        return f"{taken[0]!r} is the name of a built-in task: choose another"
    return None


def _protocol_problem(hello: Hello) -> str | None:
    newest, oldest = hello.protocol, hello.oldest_protocol
    if newest < OLDEST_PROTOCOL:
        return (
            f"the worker speaks protocol {newest}, this server {OLDEST_PROTOCOL} or newer: upgrade the worker"
        )
    if oldest > PROTOCOL:
        return f"this server speaks protocol {PROTOCOL}, the worker {oldest} or newer: upgrade servers first"
    return None


def json_problem(message: FromWorker, fields: Sequence[str]) -> str | None:
    for field in fields:
        try:
            problem = json_error(msgspec.json.encode(getattr(message, field)), _MOST_HELLO_BYTES)
        except (TypeError, ValueError) as error:  # MessagePack has types that JSON does not
            problem = f"cannot be written as JSON: {error}"
        if problem:
            return f"{field} {problem}"
    return None
