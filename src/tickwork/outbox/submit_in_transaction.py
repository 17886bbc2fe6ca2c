"""Writes a job request in the user's transaction. The relay creates the job after the commit."""

from typing import Any

import msgspec

from tickwork.model.job import JobRequest
from tickwork.outbox.database_driver import async_driver_of, driver_of

_WRITE = """
INSERT INTO tickwork_outbox.job (request) VALUES (CAST(CAST({} AS text) AS json)) RETURNING CAST(id AS text)
"""


def write(connection: Any, request: JobRequest) -> str:
    """Returns the id of the row. A job without a key gets the key outbox:ID."""
    return str(driver_of(connection).value(_WRITE, _text(request)))


async def write_async(connection: Any, request: JobRequest) -> str:
    return str(await async_driver_of(connection).value(_WRITE, _text(request)))


def _text(request: JobRequest) -> str:
    return msgspec.json.encode(request).decode()
