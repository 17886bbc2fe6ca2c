"""The clients that submit jobs, created when they are first used."""

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickwork.client.async_client import AsyncClient
    from tickwork.client.sync_client import Client


class LazyClients:
    def __init__(self, client: "Client | None" = None, async_client: "AsyncClient | None" = None) -> None:
        if client:
            self.client = client
        if async_client:
            self.async_client = async_client

    @cached_property
    def client(self) -> "Client":
        from tickwork.client.sync_client import Client  # noqa: PLC0415 (a worker does not need it)

        return Client()

    @cached_property
    def async_client(self) -> "AsyncClient":
        from tickwork.client.async_client import AsyncClient  # noqa: PLC0415 (likewise)

        return AsyncClient()
