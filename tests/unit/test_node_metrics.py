"""Metrics that are read when they are scraped: one that cannot be read leaves the others as they are."""

from math import isnan
from pathlib import Path

from prometheus_client import REGISTRY, generate_latest

from tickwork.node_metrics import show_disk


def test_a_data_folder_that_is_gone_costs_no_other_metric(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    show_disk(folder)
    assert REGISTRY.get_sample_value("tickwork_disk_size_bytes", {"disk": "data"}) > 0
    folder.rmdir()
    assert isnan(REGISTRY.get_sample_value("tickwork_disk_size_bytes", {"disk": "data"}))
    assert b"tickwork_workers_connected" in generate_latest()
