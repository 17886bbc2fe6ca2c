"""For code that writes to a PostgreSQL of its own: its effects once, and its jobs if and only if it commits."""

from tickwork.outbox.exactly_once import once, once_async

__all__ = ["once", "once_async"]
