"""Where the server is: as told, as in the environment, or as `tickwork up` left it in its data folder."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

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
    """From the data folder here or in a folder above."""
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
    """Else whoever may write to a folder above could have our jobs sent to a server of their own."""
    return os.name == "nt" or file.stat().st_uid in (os.geteuid(), 0)


def _read_key(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise NotAllowed(f"the key in {file} cannot be read ({error}); set TICKWORK_API_KEY") from None
