"""What a server says about itself when it starts, in one log line: what it runs on, what was set, and what is off."""

import platform
from importlib.metadata import version
from urllib.parse import urlsplit

from tickwork import __version__
from tickwork.config import Settings, shown
from tickwork.model.cluster import ClusterView

# Told elsewhere, or not settings of a server.
_NOT_SHOWN = frozenset({"database_url", "admin_key", "api_key", "url", "outbox_url", "slots"})


def startup_report(
    settings: Settings, cluster: ClusterView, *, pooled: bool, loops: int
) -> dict[str, object]:
    """`pooled`: there is a pooler between this server and its database."""
    database = cluster.database
    return {
        "version": __version__,
        "python": platform.python_version(),
        "postgres": database.version,
        "embedded_postgres": database.embedded,
        "database": "embedded" if database.embedded else _where(settings.database_url or ""),
        "pooled": pooled,
        "replicas": database.replicas,
        "connections": f"{database.connections_used} of {database.connections_allowed}",
        "schema": cluster.schema_version,
        "zone_data": version("tzdata"),
        "partitions_until": cluster.partitions_until.isoformat(),
        "settings": _changed(settings),
        "off": _off(settings),
        "loops": loops,
    }


def _where(url: str) -> str:
    """Hosts and name of the database, without user and password."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def _changed(settings: Settings) -> dict[str, str]:
    """The settings that differ from their defaults."""
    defaults = Settings()
    return {
        name: shown(name, value)
        for name in settings.__struct_fields__
        if name not in _NOT_SHOWN and (value := getattr(settings, name)) != getattr(defaults, name)
    }


def _off(settings: Settings) -> list[str]:
    """What this server does not do as it is set up."""
    lacking = {
        "HTTP jobs and notifications (http)": settings.http,
        "mail (smtp_url)": settings.smtp_url,
        "links in notifications (public_url)": settings.public_url,
        "tracing (tracing)": settings.tracing,
        "draining for a load balancer (drain_delay)": settings.drain_delay,
    }
    return [what for what, is_on in lacking.items() if not is_on]
