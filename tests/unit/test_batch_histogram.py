"""A batch is counted as if each of its values had been observed."""

import random

from prometheus_client import CollectorRegistry, Histogram

from tickwork.execution_metrics import BatchHistogram

BOUNDS = (0.001, 0.05, 1, 60)


def samples(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    return {
        (each.name.removeprefix("a_").removeprefix("b_"), each.labels.get("le", "")): round(each.value, 6)
        for metric in registry.collect()
        for each in metric.samples
        if not each.name.endswith("_created")
    }


def test_counts_like_a_histogram_that_observes_every_value():
    batches, values = CollectorRegistry(), CollectorRegistry()
    in_batches = BatchHistogram("a_seconds", "By batch.", BOUNDS, batches)
    one_by_one = Histogram("b_seconds", "By value.", buckets=BOUNDS, registry=values)
    source = random.Random(1)  # noqa: S311 (values of a test)
    for size in (1, 7, 400):
        batch = [int(10 ** source.uniform(1, 9)) for _ in range(size)] + [1000, 50_000, 60_000_000]
        for micros in batch:
            one_by_one.observe(micros / 1e6)
        in_batches.add(batch)
    assert samples(batches) == samples(values)


def test_takes_a_time_before_zero_as_zero_so_that_its_sum_never_falls():
    registry = CollectorRegistry()
    histogram = BatchHistogram("a_seconds", "By batch.", BOUNDS, registry)
    histogram.add([-5_000_000, 2_000_000])
    assert samples(registry)["seconds_sum", ""] == 2
    assert samples(registry)["seconds_bucket", "0.001"] == 1
    assert samples(registry)["seconds_count", ""] == 2


def test_an_empty_batch_changes_nothing():
    registry = CollectorRegistry()
    histogram = BatchHistogram("a_seconds", "By batch.", BOUNDS, registry)
    histogram.add([])
    assert set(samples(registry).values()) == {0}
