import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

_BENCH = Path(__file__).parents[3] / "bench"
_MACHINE = {"processor": "P", "cores": 2, "memory": "8 GB", "system": "S", "python": "3", "data_on": "ext4"}
_PAGE = "".join(
    f"<!-- {name} -->\nNot measured yet.\n<!-- end of {name} -->\n"
    for name in ("figures", "machine", "details", "peers")
)


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(_BENCH)
    return import_module("report")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "performance.md"
    file.write_text(_PAGE)
    return file


def test_says_of_each_scenario_without_a_figure_that_it_was_not_measured(report: Any, page: Path) -> None:
    _keep(page.parent / "http.json", _result("http", seconds=77.0))
    report.write(page.parent, page)
    text = page.read_text()
    assert "| http | 3,100 jobs/s | 3,000 | yes | 0 | 0 |" in text
    assert "| lateness | not measured |" in text
    assert "tickwork bench http --seconds 77" in text
    assert (page.parent / "performance" / "http.svg").exists()


@pytest.fixture
def before(report: Any, page: Path) -> str:
    """A page with two figures, of which the files are gone."""
    for name in ("http", "lateness"):
        _keep(page.parent / f"{name}.json", _result(name))
    report.write(page.parent, page)
    for name in ("http", "lateness"):
        (page.parent / f"{name}.json").unlink()
    return page.read_text()


def test_a_run_of_some_keeps_the_earlier_figures_of_the_others(report: Any, page: Path, before: str) -> None:
    _keep(page.parent / "http.json", _result("http") | {"value": 4200, "at": "2026-03-04T00:00:00Z"})
    report.write(page.parent, page)
    text = page.read_text()
    assert "| http | 4,200 jobs/s |" in text
    assert "| lateness | 3,100 jobs/s |" in text
    assert text.count("### lateness") == text.count("### http") == 1
    assert "| measured | 2026-01-02 to 2026-03-04 |" in text
    _keep(page.parent / "http.json", _result("http"))
    report.write(page.parent, page)
    assert page.read_text() == before.replace("2026-01-02 |", "2026-01-02 to 2026-03-04 |")


def test_an_earlier_figure_does_not_stand_for_a_failure(report: Any, page: Path, before: str) -> None:
    _keep(page.parent / "http.json", _result("http"))
    report.write(page.parent, page, failed=["lateness"])
    assert "| lateness | not measured |" in page.read_text()
    assert "### lateness" not in page.read_text()


def test_figures_of_two_machines_do_not_stand_side_by_side(report: Any, page: Path, before: str) -> None:
    _keep(page.parent / "http.json", _result("http") | {"machine": _MACHINE | {"cores": 64}})
    report.write(page.parent, page)
    assert "| lateness | not measured |" in page.read_text()


def test_takes_no_quick_form_for_a_measurement(report: Any, page: Path) -> None:
    quick = report.msgspec.to_builtins(report.scenario("http").quick)
    _keep(page.parent / "http.json", _result("http") | {"plan": quick})
    report.write(page.parent, page)
    assert page.read_text() == _PAGE


def test_tells_the_median_of_a_peer_and_why_another_is_missing(report: Any, page: Path) -> None:
    turns = [_turn("Celery", rate) for rate in (500, 700, 600)]
    skipped = {"contest": "rq", "turn": 1, "skipped": "redis-server is not installed"}
    _keep(page.parent / "peers.json", _peers([*turns, skipped]))
    report.write(page.parent, page)
    text = page.read_text()
    assert "| Celery | 600 | 500 to 700 | 900 | A | fsync every second | 0 | 0 |" in text
    assert "Not measured in 1 of 1 turns: rq, redis-server is not installed." in text
    assert "Not measured this time: huey." in text


def test_written_twice_is_the_same_page(report: Any, page: Path) -> None:
    _keep(page.parent / "peers.json", _peers([_turn("Celery", 500)]))
    report.write(page.parent, page)
    once = page.read_text()
    report.write(page.parent, page)
    assert page.read_text() == once


def _keep(file: Path, document: dict[str, Any]) -> None:
    file.write_text(json.dumps(document))


def _result(name: str, **plan: float) -> dict[str, Any]:
    return {
        "scenario": name,
        "value": 3100,
        "unit": "jobs/s",
        "goal": 3000,
        "met": True,
        "lost": 0,
        "doubled": 0,
        "details": {"due": 10},
        "held_equal": "all",
        "series": {"jobs a second": [[0.0, 1.0], [1.0, 2.0]]},
        "plan": plan,
        "machine": _MACHINE,
        "at": "2026-01-02T03:04:05Z",
    }


def _peers(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"at": "2026-01-02T03:04:05Z", "machine": _MACHINE, "runs": 3, "seconds": 10, "results": results}


def _turn(name: str, rate: int) -> dict[str, Any]:
    return {
        "contest": name.lower(),
        "name": name,
        "version": "1",
        "store": "Redis 7",
        "durability": "fsync every second",
        "history": "A",
        "kept": "nothing",
        "killed": "lost",
        "fast_path": "fast",
        "jobs": 10,
        "enqueued_per_second": 900,
        "drained_per_second": rate,
        "lost": 0,
        "doubled": 0,
    }
