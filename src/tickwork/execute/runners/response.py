"""An answer that comes to the point: few provisional ones (status 1xx) before it."""

from aiohttp import ClientResponse
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError

_PROVISIONAL = (
    20  # aiohttp would take in any number, and a flood of them leaves little time for other targets
)


class PromptResponse(ClientResponse):
    async def start(self, connection: Connection) -> ClientResponse:
        protocol = connection.protocol
        if protocol is None:
            return await super().start(connection)
        read, left = protocol.read, _PROVISIONAL + 1

        async def read_few():  # type: ignore[no-untyped-def]  # noqa: ANN202 (as the one it stands for)
            nonlocal left
            left -= 1
            if left < 0:
                raise HttpProcessingError(message=f"more than {_PROVISIONAL} provisional answers")
            return await read()

        protocol.read = read_few  # type: ignore[method-assign]
        try:
            return await super().start(connection)
        finally:
            protocol.read = read  # type: ignore[method-assign]
