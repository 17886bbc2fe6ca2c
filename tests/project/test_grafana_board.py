"""The Grafana board, as far as it can be checked without Grafana: its panels, and what they ask for."""

import json
import re
import shutil
import subprocess
from itertools import combinations
from typing import Any

import pytest

from support.docs_page import ROOT

BOARD = json.loads((ROOT / "deploy/grafana/tickwork.json").read_text("utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
TITLES = [panel["title"] for panel in PANELS]
# Of Grafana's units, those that a board about jobs can need.
UNITS = {"s", "ops", "reqps", "percentunit", "percent", "short", "bytes", "none"}
WIDTH = 24
PROMTOOL = shutil.which("promtool")


def test_the_board_asks_which_prometheus_to_use() -> None:
    (variable,) = [each for each in BOARD["templating"]["list"] if each["type"] == "datasource"]
    assert (variable["name"], variable["query"]) == ("datasource", "prometheus")
    assert isinstance(BOARD["schemaVersion"], int)


def test_panels_have_numbers_and_titles_of_their_own() -> None:
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len({*numbers}) == len(numbers)
    assert len({*TITLES}) == len(TITLES)


@pytest.mark.parametrize("panel", PANELS, ids=TITLES)
def test_a_panel_has_a_source_a_unit_and_a_legend(panel: dict[str, Any]) -> None:
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["targets"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    for target in panel["targets"]:
        assert target["legendFormat"]


def test_panels_lie_side_by_side_and_not_on_each_other() -> None:
    places = [(panel["title"], panel["gridPos"]) for panel in BOARD["panels"]]
    for title, place in places:
        assert place["w"] > 0, title
        assert place["h"] > 0, title
        assert 0 <= place["x"] <= WIDTH - place["w"], title
    assert [(one[0], other[0]) for one, other in combinations(places, 2) if _overlap(one[1], other[1])] == []


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(
        one[begin] < other[begin] + other[length] and other[begin] < one[begin] + one[length]
        for begin, length in (("x", "w"), ("y", "h"))
    )


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian package prometheus)")
def test_every_query_of_the_board_is_promql(tmp_path) -> None:
    """promtool reads whole files of rules, so each query becomes a rule."""
    queries = [target["expr"] for panel in PANELS for target in panel["targets"]]
    rules = [
        {"record": f"query:{number}", "expr": re.sub(r"\$__(rate_)?interval", "1m", query)}
        for number, query in enumerate(queries)
    ]
    assert not [rule for rule in rules if "$" in rule["expr"]]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}))
    checked = subprocess.run(
        [str(PROMTOOL), "check", "rules", str(tmp_path / "rules.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
