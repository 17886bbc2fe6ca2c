"""Finds the server: from arguments, the environment, or the data folder of `tickwork up`. And how clients connect."""

import os
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple, get_args

import httpx2
import msgspec

from tickwork.model.errors import Invalid, NotAllowed, Unavailable

DATA_DIR_DEFAULT = Path(".tickwork")
SERVER_FILE = "server.json"
KEY_FILE = "admin.key"


class Address(NamedTuple):
    url: str
    key: str


class LocalServer(msgspec.Struct, frozen=True):
    """What `tickwork up` writes into its data folder while it runs."""

    url: str
    pid: int


def find_server(
    url: str | None = None,
    api_key: str | None = None,
    data_dir: Path | None = None,
    env: Mapping[str, str] = os.environ,
) -> Address:
    url = url or env.get("TICKWORK_URL")
    api_key = api_key or env.get("TICKWORK_API_KEY")
    if url is None:
        return _local_server(data_dir or Path(env.get("TICKWORK_DATA_DIR") or DATA_DIR_DEFAULT), api_key)
    if api_key is None:
        raise NotAllowed(f"{url} wants a key; set TICKWORK_API_KEY")
    return _checked(Address(url, api_key))


def _checked(address: Address) -> Address:
    if not address.url.startswith(("http://", "https://")):
        raise Invalid.field("url", f"{address.url!r} is not an address", "write http://HOST:PORT")
    if not (address.key.isascii() and address.key.isprintable()):
        raise NotAllowed("the key holds characters that no key has; set TICKWORK_API_KEY again")
    return address


def _local_server(data_dir: Path, api_key: str | None) -> Address:
    """Read the data folder in this folder or the nearest parent that has one."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        server = _read_server(folder / data_dir / SERVER_FILE)
        if server is not None:
            return Address(server.url, api_key or _read_key(folder / data_dir / KEY_FILE))
    raise Unavailable(
        "no server runs here; start one with `tickwork up`, or set TICKWORK_URL and TICKWORK_API_KEY"
    )


def _read_server(file: Path) -> LocalServer | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=LocalServer) if _is_ours(file) else None
    except (OSError, msgspec.MsgspecError):
        return None


def _is_ours(file: Path) -> bool:
    """Otherwise anyone who can write to a parent folder could redirect our jobs to their own server."""
    return os.name == "nt" or file.stat().st_uid in (os.geteuid(), 0)


def _read_key(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise NotAllowed(f"the key in {file} cannot be read ({error}); set TICKWORK_API_KEY") from None


TIMEOUT_DEFAULT = 30.0  # seconds for one answer
CONNECT_TIMEOUT = 5.0


def connection_options(address: Address, timeout: float) -> dict[str, Any]:
    """The arguments of httpx2.Client and httpx2.AsyncClient."""
    url = httpx2.URL(address.url)
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {address.key}"},
        "timeout": httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT),
        "trust_env": not is_loopback(url.host),  # a proxy cannot reach this machine's loopback
        "verify": url.scheme
        == "https",  # without TLS, loading the certificates would cost more than a request
    }


def shown_url(url: httpx2.URL) -> str:
    """The URL without user name and password."""
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
