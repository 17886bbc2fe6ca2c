"""What the sync and the async client have in common besides the calls."""

from collections.abc import Callable
from inspect import Parameter, signature
from ipaddress import ip_address
from typing import Any, get_args

import httpx2

from tickwork.client.address import Address

TIMEOUT_DEFAULT = 30.0  # seconds for one answer
CONNECT_TIMEOUT = 5.0


def connection_options(address: Address, timeout: float) -> dict[str, Any]:
    """The arguments of httpx2.Client and httpx2.AsyncClient."""
    url = httpx2.URL(address.url)
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {address.key}"},
        "timeout": httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT),
        "trust_env": not is_loopback(url.host),  # no proxy leads back to this machine
        "verify": url.scheme == "https",  # reading the certificates takes longer than a request
    }


def shown_url(url: httpx2.URL) -> str:
    """Without a name and a password that it may hold."""
    return str(url.copy_with(username=None, password=None)).rstrip("/")


def take_signature(method: Callable[..., Any], described: Callable[..., Any]) -> None:
    """Let help() and completion show the parameters of the call that a method sends."""
    original = signature(described)
    parameters = [Parameter("self", Parameter.POSITIONAL_ONLY), *original.parameters.values()]
    answer = get_args(original.return_annotation)[-1]
    method.__signature__ = original.replace(parameters=parameters, return_annotation=answer)  # type: ignore[attr-defined]
    method.__name__, method.__doc__ = described.__name__, described.__doc__


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
