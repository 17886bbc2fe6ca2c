"""For code with its own PostgreSQL: effects exactly once, and jobs that exist if and only if it commits."""

from tickwork.outbox.exactly_once import once, once_async

__all__ = ["once", "once_async"]
