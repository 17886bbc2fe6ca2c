"""Says at the very end of a run which tests were left out, and why: a green run must not hide what it did not check."""

from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    yield  # after all other summaries
    skipped = Counter(_place_and_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if not skipped:
        return
    terminalreporter.section(f"{skipped.total()} skipped: not checked here", yellow=True)
    for (place, reason), count in sorted(skipped.items()):
        terminalreporter.line(f"{place}{f' ({count} tests)' if count > 1 else ''}: {reason}")


def _place_and_reason(report: pytest.TestReport) -> tuple[str, str]:
    """Of a module that was skipped whole there is no test to name."""
    _, _, reason = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, str(report.longrepr))
    place = report.nodeid.partition("[")[0] or str(Path(report.fspath))
    return place, reason.removeprefix("Skipped: ")
