"""Public ids: a letter for the kind, then numbers in base 32.

An execution's id carries its whole identity (job, scheduled_for), so no look-up table is needed to find
it, and handlers can use it as an idempotency key. Ids contain no dot, as Standard Webhooks requires.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from tickwork.model.errors import BadId

KEY_PREFIX = "key:"
LONGEST_KEY = 200
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no i, l, o, u to misread
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST = 2**63 - 1
_LONGEST = 13  # 13 digits of 5 bits hold any positive bigint


def to_micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def job_id(number: int) -> str:
    return "j" + _encode(number)


def parse_job_id(text: str) -> int:
    return _decode(text, "j", "job")


def job_key(text: str) -> str | None:
    """The key in key:NAME, which is accepted wherever a job id is."""
    return text.removeprefix(KEY_PREFIX) if text.startswith(KEY_PREFIX) else None


def is_job_key(text: str) -> bool:
    """Whether a job can have this key."""
    return 0 < len(text) <= LONGEST_KEY and "\x00" not in text


def worker_id(number: int) -> str:
    return "w" + _encode(number)


def parse_worker_id(text: str) -> int:
    return _decode(text, "w", "worker")


def key_id(number: int) -> str:
    return "k" + _encode(number)


def parse_key_id(text: str) -> int:
    return _decode(text, "k", "key")


def backfill_id(number: int) -> str:
    return "b" + _encode(number)


def parse_backfill_id(text: str) -> int:
    return _decode(text, "b", "backfill")


def notification_id(number: int) -> str:
    return "n" + _encode(number)


def parse_notification_id(text: str) -> int:
    return _decode(text, "n", "notification")


def execution_id(job: int, scheduled_for: datetime) -> str:
    return f"e{_encode(job)}-{_encode_instant(scheduled_for)}"


@lru_cache(maxsize=1024)
def _encode_instant(at: datetime) -> str:
    """Cached, because thousands of executions share a due time."""
    return _encode(to_micros(at))


def parse_execution_id(text: str) -> tuple[int, datetime]:
    job, dash, micros = text.partition("-")
    if not dash:
        raise BadId(text, "execution")
    try:
        at = from_micros(_decode("e" + micros, "e", "execution"))
    except OverflowError:
        raise BadId(text, "execution") from None
    return _decode(job, "e", "execution"), at


def _encode(number: int) -> str:
    text = ""
    while number >= len(_PAIRS):
        number, pair = divmod(number, len(_PAIRS))
        text = _PAIRS[pair] + text
    return (_PAIRS[number] if number >= len(_DIGITS) else _DIGITS[number]) + text


def _decode(text: str, prefix: str, kind: str) -> int:
    digits = text[1:]
    if text[:1] != prefix or not 0 < len(digits) <= _LONGEST:
        raise BadId(text, kind)
    number = 0
    for digit in digits:
        if digit not in _VALUES:
            raise BadId(text, kind)
        number = number * 32 + _VALUES[digit]
    if number > _LARGEST:
        raise BadId(text, kind)
    return number
