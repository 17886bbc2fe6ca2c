"""One frozen Settings: a flag, else a TICKWORK_* variable, else tickwork.toml, else the default."""

import re
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import msgspec
from msgspec import Meta

from tickwork.model.archive import parse_archive_url
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.quantities import format_duration, parse_duration
from tickwork.model.smtp_server import is_sender, parse_smtp_url

CONFIG_FILE = Path("tickwork.toml")
PREFIX = "TICKWORK_"
DEFAULT = "default"
_SECRETS = frozenset({"admin_key", "api_key"})
_DURATIONS = frozenset({"wait_for_database", "drain_delay"})
_NETWORKS = frozenset({"http_allow", "trusted_proxies"})
_URLS_WITH_PASSWORD = frozenset({"database_url", "read_url", "outbox_url", "smtp_url"})
_MASK = "********"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    database_url: Annotated[str, Meta(pattern=r"^postgres(ql)?://")] | None = None
    read_url: Annotated[str, Meta(pattern=r"^postgres(ql)?://")] | None = None
    wait_for_database: timedelta = timedelta(0)
    data_dir: Path = Path(".tickwork")
    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    max_connections: Annotated[int, Meta(ge=10, le=1_000_000)] = 1000
    drain_delay: timedelta = timedelta(0)
    http: bool = True
    http_allow: tuple[str, ...] = ()
    http_allow_loopback: bool = False
    trusted_proxies: tuple[str, ...] = ("127.0.0.0/8", "::1/128")
    admin_key: Annotated[str, Meta(min_length=24)] | None = None
    url: Annotated[str, Meta(pattern=r"^https?://")] | None = None
    api_key: str | None = None
    log_format: Literal["auto", "json", "console"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    history_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    archive_url: str | None = None
    slots: Annotated[int, Meta(ge=1, le=100_000)] = 100
    outbox_url: Annotated[str, Meta(pattern=r"^postgres(ql)?://")] | None = None
    tracing: bool = False
    public_url: Annotated[str, Meta(pattern=r"^https?://")] | None = None
    smtp_url: str | None = None
    smtp_from: str | None = None

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={shown(name, getattr(self, name))}" for name in self.__struct_fields__)
        return f"Settings({values})"


MEANINGS = {  # what each setting must be, to complete the sentence "this must be …"
    "database_url": "an address such as postgresql://user:password@host/name",
    "read_url": "the address of a replica such as postgresql://user:password@host/name",
    "wait_for_database": "a duration such as 60s or 5m",
    "data_dir": "a folder",
    "host": "an address to listen on, such as 127.0.0.1",
    "port": "a port from 0 (any free one) to 65535",
    "max_connections": "a number from 10 to 1000000",
    "drain_delay": "a duration such as 5s",
    "http": "true (run HTTP jobs) or false",
    "http_allow": "the private networks that HTTP jobs may call, such as 10.0.0.0/8",
    "http_allow_loopback": "true (HTTP jobs may call this machine) or false",
    "trusted_proxies": "the networks of your proxies, such as 10.0.0.0/8",
    "admin_key": "a secret of 24 characters or more",
    "url": "the address of a server, such as http://127.0.0.1:8080",
    "api_key": "an API key",
    "log_format": "auto, json or console",
    "log_level": "debug, info, warning or error",
    "history_days": "a number of days from 1 to 3650",
    "archive_url": "a folder, or a bucket such as s3://bucket/prefix",
    "slots": "a number from 1 to 100000",
    "outbox_url": "an address such as postgresql://user:password@host/name",
    "tracing": "true (record traces) or false",
    "public_url": "the address of the dashboard, such as https://tickwork.example.com",
    "smtp_url": "a mail relay such as smtp://user:password@host:587, smtps://… or smtp+plain://…",
    "smtp_from": "a sender such as Tickwork <tickwork@example.com>",
}

Sources = Mapping[str, str]


class _Given(NamedTuple):
    value: object
    source: str
    typed: bool  # False for a variable, which is always text


def load_settings(
    flags: Mapping[str, object], env: Mapping[str, str], file: Path | None
) -> tuple[Settings, Sources]:
    """The settings, and where each value came from. Invalid names every bad one and its source."""
    given = _from_file(file) | _from_environment(env) | _from_flags(flags)
    values, errors = {}, []
    for name, item in given.items():
        try:
            values[name] = _read(name, item)
        except ValueError:
            errors.append(_bad_value(name, item))
    if values.get("smtp_url") and not values.get("smtp_from"):
        errors.append(FieldError("smtp_from", "is required with smtp_url", f"set {variable('smtp_from')}"))
    if errors:
        raise Invalid(errors)
    sources = {name: given[name].source if name in given else DEFAULT for name in Settings.__struct_fields__}
    return Settings(**values), sources


def variable(name: str) -> str:
    return PREFIX + name.upper()


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def shown(name: str, value: object) -> str:
    """A value as it may be printed: no secret, no password."""
    if value is None:
        return ""
    if name in _SECRETS:
        return _MASK
    if name in _URLS_WITH_PASSWORD:
        return _without_password(str(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return format_duration(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def unknown_variables(env: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and are none. Kubernetes adds some for a service called tickwork, so
    these are only ever a warning."""
    known = {variable(name) for name in Settings.__struct_fields__}
    return sorted(name for name in env if name.startswith(PREFIX) and name not in known)


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str | None:
    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else None


def _from_flags(flags: Mapping[str, object]) -> dict[str, _Given]:
    return {name: _Given(value, flag(name), typed=True) for name, value in flags.items() if value is not None}


def _from_environment(env: Mapping[str, str]) -> dict[str, _Given]:
    given = {name: env.get(variable(name), "").strip() for name in Settings.__struct_fields__}
    if given["port"].startswith("tcp://"):
        del given["port"]  # not ours: Kubernetes sets TICKWORK_PORT for a service called tickwork
    return {name: _Given(text, variable(name), typed=False) for name, text in given.items() if text}


def _from_file(file: Path | None) -> dict[str, _Given]:
    if file is None:
        return {}
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Invalid.field(str(file), f"cannot be read: {error}") from None
    known = Settings.__struct_fields__
    unknown = [name for name in table if name not in known]
    if unknown:
        raise Invalid([_unknown_setting(file, name, known) for name in unknown])
    return {name: _Given(value, str(file), typed=True) for name, value in table.items()}


def _unknown_setting(file: Path, name: str, known: tuple[str, ...]) -> FieldError:
    hint = did_you_mean(name, known) or f"the settings are {', '.join(known)}"
    return FieldError(name, f"is not a setting, but appears in {file}", hint)


def _read(name: str, given: _Given) -> Any:
    value = given.value
    if name in _DURATIONS:
        return parse_duration(value)
    if name in _NETWORKS and isinstance(value, str):
        value = [network.strip() for network in value.split(",") if network.strip()]
    read = msgspec.convert(value, _TYPES[name], strict=given.typed, dec_hook=_to_path)
    if name in _NETWORKS:
        for network in read:
            ip_network(network)
    if name == "archive_url":
        parse_archive_url(read)
    if name == "smtp_url":
        parse_smtp_url(read)
    if name == "smtp_from" and not is_sender(read):
        raise ValueError(read)
    return read


def _to_path(kind: type, value: object) -> object:
    return kind(value) if isinstance(value, str) and value else value


def _bad_value(name: str, given: _Given) -> FieldError:
    may_contain_secret = name in _SECRETS or name in _URLS_WITH_PASSWORD
    value = "what is set" if may_contain_secret else repr(shown(name, given.value))
    return FieldError(name, f"{value} in {given.source} must be {MEANINGS[name]}", f"correct {given.source}")


def _without_password(address: str) -> str:
    address = re.sub(r"(?<=[?&]password=)[^&]*", _MASK, address)
    return re.sub(r"(?<=://)([^/@:]*):[^/]*@", rf"\1:{_MASK}@", address)


_TYPES = get_type_hints(Settings, include_extras=True)
