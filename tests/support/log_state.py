"""The log of this process, which commands and workers set up for good."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from tickwork import log_setup


@contextmanager
def log_settings_kept() -> Iterator[None]:
    """Undoes `configure_logs`: the next test logs to its own stdout again, and `capture_logs` hears it."""
    root, in_use = logging.getLogger(), log_setup._in_use
    handlers, level = root.handlers[:], root.level
    yield
    if not structlog.is_configured():
        return
    structlog.reset_defaults()
    _forget_cached_loggers()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in log_setup._QUIET:
        logging.getLogger(name).setLevel(logging.NOTSET)
    log_setup._in_use = in_use


def _forget_cached_loggers() -> None:
    """A logger that was used once keeps the settings of that time in an attribute of its own."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tickwork":
            for value in vars(module).values():
                if isinstance(value, structlog._config.BoundLoggerLazyProxy):
                    vars(value).pop("bind", None)
