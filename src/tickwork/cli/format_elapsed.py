"""How long something took, for people."""

from datetime import timedelta

_WHOLE_SECONDS_FROM = 10  # seconds, from which fractions are not shown


def format_elapsed(duration: timedelta) -> str:
    return format_seconds(max(duration.total_seconds(), 0.0))


def format_seconds(seconds: float) -> str:
    """Rounded to a readable precision: 5ms, 2.5s, 41s, 3m20s, 2h05m."""
    if seconds < 1:
        return f"{max(round(seconds * 1000), 1)}ms"
    if seconds < _WHOLE_SECONDS_FROM:
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    minutes, left = divmod(round(seconds), 60)
    if not minutes:
        return f"{left}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{left:02}s"
