"""Answers that are kept for requests with an Idempotency-Key, so that a repeated request gets the same answer."""

from datetime import timedelta
from typing import Protocol

_KEPT_FOR = timedelta(hours=24)


class AnswerStore(Protocol):
    async def forget_answers(self, age: timedelta) -> None: ...


async def forget_old_answers(store: AnswerStore) -> bool:
    """Forget all that are too old, so that there are no more."""
    await store.forget_answers(_KEPT_FOR)
    return False
