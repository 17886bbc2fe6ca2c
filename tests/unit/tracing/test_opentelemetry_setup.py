"""What OpenTelemetry's variables mean to Tickwork, and what is missing without the extra."""

import sys

import pytest

from tickwork.config import Settings
from tickwork.model.errors import Invalid, TickworkError
from tickwork.tracing.opentelemetry_setup import open_pipeline, sampling_rate, tracing_is_on


@pytest.mark.parametrize(
    ("sampler", "argument", "rate"),
    [
        ("", "", 1.0),
        ("always_on", "", 1.0),
        ("parentbased_always_off", "", 0.0),
        ("traceidratio", "", 1.0),
        ("parentbased_traceidratio", "0.01", 0.01),
        ("TraceIdRatio ", " 1 ", 1.0),
    ],
)
def test_reads_the_sampling_rate_from_the_standard_variables(
    sampler: str, argument: str, rate: float
) -> None:
    assert sampling_rate({"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument}) == rate


@pytest.mark.parametrize("argument", ["1 %", "-0.1", "1.1", "nan"])
def test_refuses_a_ratio_that_is_no_share(argument: str) -> None:
    with pytest.raises(Invalid, match=r"OTEL_TRACES_SAMPLER_ARG: is a share from 0 to 1"):
        sampling_rate({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": argument})


def test_refuses_a_sampler_that_it_cannot_follow() -> None:
    with pytest.raises(Invalid, match=r"OTEL_TRACES_SAMPLER: is one of always_on, always_off, traceidratio"):
        sampling_rate({"OTEL_TRACES_SAMPLER": "jaeger_remote"})


def test_refuses_a_protocol_that_it_does_not_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(
        Invalid, match=r"OTEL_EXPORTER_OTLP_PROTOCOL: is http/protobuf; 'grpc' is not supported"
    ):
        open_pipeline("test")


def test_says_how_to_install_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tickwork.tracing.otlp_tracer_provider", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(TickworkError, match=r"is not installed: pip install 'tickwork\[otel\]'"):
        open_pipeline("test")


def test_the_service_has_a_name_unless_the_standard_variables_give_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = open_pipeline("ours")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "theirs")
    theirs = open_pipeline("ours")
    assert [each.resource.attributes["service.name"] for each in (ours, theirs)] == ["ours", "theirs"]
    for pipeline in (ours, theirs):
        pipeline.close()


@pytest.mark.parametrize(("disabled", "on"), [("", True), ("false", True), ("true", False), (" TRUE", False)])
def test_the_standard_variable_turns_it_off(monkeypatch: pytest.MonkeyPatch, disabled: str, on: bool) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", disabled)
    assert tracing_is_on(Settings(tracing=True)) is on
    assert not tracing_is_on(Settings())
