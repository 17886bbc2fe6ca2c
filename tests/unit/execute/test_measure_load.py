"""What a worker measures of its machine, from files as Linux writes them."""

from pathlib import Path

from tickwork.execute.measure_load import LoadMeter

KIB = 1024


def _machine(folder: Path, cpu: str = "cpu  100 0 100 700 100 0 0 0 0 0") -> Path:
    (folder / "self").mkdir(exist_ok=True)
    (folder / "stat").write_text(f"{cpu}\ncpu0 1 2 3\n")
    (folder / "meminfo").write_text("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\n")
    (folder / "self" / "statm").write_text("500 25 10 1 0 100 0\n")
    return folder


def test_cpu_is_what_was_busy_since_the_last_measurement(tmp_path):
    meter = LoadMeter(tmp_path, _machine(tmp_path), tmp_path / "none")
    _machine(tmp_path, "cpu  120 0 110 760 110 0 0 0 0 0")
    assert meter.measure().cpu == 0.3
    _machine(tmp_path, "cpu  120 0 110 860 110 0 0 0 0 0")
    assert meter.measure().cpu == 0.0
    assert meter.measure().cpu is None  # no time has passed


def test_memory_and_disk(tmp_path):
    load = LoadMeter(tmp_path, _machine(tmp_path), tmp_path / "none").measure()
    assert (load.memory_used, load.memory_total) == (600 * KIB, 1000 * KIB)
    assert 0 < load.disk_used <= load.disk_total
    assert load.process_memory > 0
    assert load.process_cpu >= 0


def test_memory_is_that_of_the_container_if_it_is_limited(tmp_path):
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("500\n")
    meter = LoadMeter(tmp_path, _machine(tmp_path), tmp_path)
    assert (meter.measure().memory_used, meter.measure().memory_total) == (300, 500)
    (tmp_path / "memory.max").write_text("max\n")
    assert meter.measure().memory_total == 1000 * KIB


def test_leaves_out_what_the_system_does_not_tell(tmp_path):
    (tmp_path / "stat").write_text("nonsense")
    (tmp_path / "meminfo").write_text("MemTotal: lots\n")
    load = LoadMeter(tmp_path / "gone", tmp_path, tmp_path).measure()
    assert (load.cpu, load.memory_used, load.disk_used, load.process_memory) == (None,) * 4
    assert load.shares() == {}


def test_measures_this_machine():
    meter = LoadMeter(Path.cwd())
    load = meter.measure()
    assert load.disk_total
    assert load.shares()["disk"] <= 1
