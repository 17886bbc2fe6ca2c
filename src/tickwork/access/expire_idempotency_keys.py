"""Deletes old stored answers, which are repeated to requests with the same Idempotency-Key."""

from datetime import timedelta
from typing import Protocol

_LIFETIME = timedelta(hours=24)


class AnswerStore(Protocol):
    async def forget_answers(self, age: timedelta) -> None: ...


async def expire_idempotency_keys(store: AnswerStore) -> bool:
    """Returns False: one call deletes all that are too old."""
    await store.forget_answers(_LIFETIME)
    return False
