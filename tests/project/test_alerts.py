"""The alert rules and the board: they speak of metrics that exist, and each alert is tested and has a runbook."""

import json
import re
import shutil
import subprocess
from typing import get_args

import pytest

from support.docs_page import ROOT
from support.metric_samples import every_metric
from tickwork.loop_names import LoopName

RULES = ROOT / "deploy/prometheus/alerts.yml"
RULE_TESTS = [ROOT / "deploy/prometheus" / name for name in ("alerts_test.yml", "alerts_days_test.yml")]
BOARD = ROOT / "deploy/grafana/tickwork.json"
RUNBOOKS = ROOT / "docs/operate/runbooks"
HEADINGS = ["Symptoms", "Checks", "Cure", "Prevention"]

ALERTS = re.findall(
    r"- alert: (\w+)\n.*?severity: (\w+)\n.*?runbook_url: (\S+)", RULES.read_text("utf-8"), re.DOTALL
)
NAMES = [name for name, _, _ in ALERTS]
_SUFFIXES = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_count", "_sum"),
    "gauge": ("",),
}


@pytest.mark.parametrize(
    "words",
    [["check", "rules", str(RULES)], ["test", "rules", *map(str, RULE_TESTS)]],
    ids=["rules", "tests"],
)
def test_promtool_accepts_the_rules_and_their_tests(words: list[str]) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    done = subprocess.run([promtool, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _expressions() -> dict[str, str]:
    board = json.loads(BOARD.read_text("utf-8"))
    panels = {
        panel["title"]: " ".join(target["expr"] for target in panel["targets"])
        for panel in board["panels"]
        if panel["type"] != "row"
    }
    return {"alerts.yml": RULES.read_text("utf-8"), **panels}


def test_every_metric_in_rules_and_board_exists() -> None:
    known = {metric.name + suffix for metric in every_metric() for suffix in _SUFFIXES[metric.type]}
    for place, text in _expressions().items():
        used = set(re.findall(r"\btickwork_\w+", text))
        assert used <= known, place


def test_every_recorded_series_in_rules_and_board_is_recorded() -> None:
    recorded = set(re.findall(r"- record: (\S+)", RULES.read_text("utf-8")))
    for place, text in _expressions().items():
        assert set(re.findall(r"\btickwork:\w+:\w+", text)) <= recorded, place


def test_every_bound_of_a_histogram_that_rules_ask_for_is_a_bucket() -> None:
    buckets = {
        (each.name, each.labels["le"])
        for metric in every_metric()
        for each in metric.samples
        if each.name.endswith("_bucket")
    }
    asked = set(re.findall(r'(tickwork_\w+_bucket)\{[^}]*le="([\d.]+)"', RULES.read_text("utf-8")))
    assert asked
    assert asked <= buckets


def test_every_loop_that_rules_name_exists() -> None:
    loops = set(get_args(LoopName))
    for names in re.findall(r'loop[=!]~?"([^"]+)"', RULES.read_text("utf-8")):
        assert set(names.split("|")) <= loops


@pytest.mark.parametrize("alert", NAMES)
def test_every_alert_is_seen_firing_in_a_test_of_the_rules(alert: str) -> None:
    tests = RULE_TESTS[0].read_text("utf-8")
    assert re.search(rf'alertname="{alert}", alertstate="firing"\}}\)\n.*\n\s+exp_samples:\n', tests)


@pytest.mark.parametrize(("alert", "severity", "runbook"), ALERTS, ids=NAMES)
def test_every_alert_has_a_severity_and_a_runbook(alert: str, severity: str, runbook: str) -> None:
    assert severity in ("page", "ticket")
    page = (ROOT / runbook).read_text("utf-8")
    assert f"`{alert}`" in page
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS


def test_every_runbook_belongs_to_an_alert() -> None:
    linked = {runbook.rpartition("/")[2] for _, _, runbook in ALERTS}
    assert {page.name for page in RUNBOOKS.glob("*.md")} == linked | {"README.md"}
