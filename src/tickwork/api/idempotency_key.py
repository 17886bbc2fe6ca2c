"""A POST with an Idempotency-Key takes effect once, however often it is sent.

The response is committed together with the effect. A refused request stores nothing, so the corrected request may
use the same key.
"""

import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from hashlib import sha256
from typing import Any

from tickwork.api.problem import CONFLICT, Refusal
from tickwork.api.reply import Reply
from tickwork.api.request_body import RawBody
from tickwork.api.route import Call
from tickwork.model.errors import Conflict, Invalid
from tickwork.store.idempotency_store import Answering, StoredAnswer

KEY_HEADER = b"idempotency-key"
_VISIBLE = re.compile(rb"[\x21-\x7e]{1,255}")


def fingerprint(method: str, path: str, query: bytes, body: RawBody) -> bytes:
    digest = sha256(f"{method} {path}?".encode())
    digest.update(query + b"\n")
    digest.update(body)
    return digest.digest()


async def run_once(
    call: Call[Any, Any], request_hash: bytes, handler: Callable[[Call[Any, Any]], Awaitable[Reply]]
) -> Reply:
    async with AsyncExitStack() as stack:
        entry = await _enter(stack, call, request_hash)
        if entry.replay:
            return _replayed(entry.replay)
        reply = await handler(call._replace(commits_with_answer=True))
        await entry.save(reply.status, reply.headers, reply.remembered or reply.body)
    return reply


async def _enter(stack: AsyncExitStack, call: Call[Any, Any], request_hash: bytes) -> Answering:
    key = read_key(call.headers[KEY_HEADER])
    try:
        return await stack.enter_async_context(call.node.idempotency.begin(call.tenant_id, key, request_hash))
    except Conflict as still_in_flight:
        raise Refusal(CONFLICT, str(still_in_flight), headers={"retry-after": "1"}) from None


def read_key(header: bytes) -> str:
    if not _VISIBLE.fullmatch(header):
        raise Invalid.field(
            "Idempotency-Key", "must be 1 to 255 visible ASCII characters", "a UUID is a good one"
        )
    return header.decode("ascii")


def _replayed(stored: StoredAnswer) -> Reply:
    return Reply(stored.status, stored.body, {**stored.headers, "idempotent-replayed": "true"})
