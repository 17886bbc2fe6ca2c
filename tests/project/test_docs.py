"""The documentation is complete, current, and says nothing that cannot be typed."""

import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest
from click.testing import CliRunner

import tickwork
from support import generate_reference
from support.docs_page import ROOT, blocks
from support.metric_samples import every_metric
from tickwork.cli import main
from tickwork.config import Settings, shown, variable

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CONFIGURATION = (ROOT / "docs/operate/configuration.md").read_text()
METRICS = (ROOT / "docs/operate/health-and-metrics.md").read_text()
TO_WRITE_ANEW = "write it anew: .venv/bin/python tests/support/generate_reference.py"

_LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("setting", Settings.__struct_fields__)
def test_every_setting_is_described_with_its_variable_and_default(setting: str) -> None:
    (row,) = re.findall(rf"^\| `{setting}` \|.*$", CONFIGURATION, re.MULTILINE)
    assert variable(setting) in row
    assert shown(setting, getattr(Settings(), setting)) in row


def test_every_metric_is_described() -> None:
    metrics = every_metric()
    assert metrics
    for metric in metrics:
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        assert f"| `{name}` | {metric.type} |" in METRICS, metric.documentation


def test_the_commands_are_described_as_they_are() -> None:
    assert generate_reference.CLI.read_text() == generate_reference.current_cli(), TO_WRITE_ANEW


def test_routes_and_problems_are_described_as_they_are() -> None:
    assert generate_reference.REST.read_text() == generate_reference.current_rest(), TO_WRITE_ANEW


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for address, anchor in _LINK.findall(page.read_text()):
        if not address.startswith("http"):
            target = (page.parent / address) if address else page
            assert target.exists(), address
            assert not anchor or anchor in _anchors(target), f"{address}#{anchor}"


def _anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_can_be_read_and_what_it_imports_exists(page: Path) -> None:
    for language, text in blocks(page.read_text()):
        if language == "python":
            compile(text, name(page), "exec")
            for names in re.findall(r"^\s*from tickwork import (.+)$", text, re.MULTILINE):
                for each in names.split(","):
                    assert hasattr(tickwork, each.strip())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_exist_with_the_options_they_are_given(page: Path) -> None:
    for language, text in blocks(page.read_text()):
        if language == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                if words := _words(line):
                    options = words[: words.index("--")] if "--" in words else words
                    checked = CliRunner().invoke(main, [*options, "--help"])
                    assert checked.exit_code == 0, f"{line}\n{checked.output}"


def _words(line: str) -> list[str]:
    """What follows tickwork in a line that calls it, up to where the shell takes over again."""
    called = re.match(r"(?:\w+=\S+ )*tickwork (.*)", line)
    if not called:
        return []
    lexer = shlex.shlex(called[1], posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    return list(takewhile(lambda word: not set(word) <= set("|&;<>"), lexer))
