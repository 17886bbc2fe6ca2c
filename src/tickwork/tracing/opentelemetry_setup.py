"""OpenTelemetry's SDK: records spans and exports them over OTLP/HTTP. It comes with `pip install tickwork[otel]`.

Where to, how much and under which name is configured by OpenTelemetry's own variables, such as
OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER and OTEL_SERVICE_NAME.
"""

from collections.abc import Mapping
from os import environ
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.trace import ProxyTracerProvider, Tracer, get_tracer_provider, set_tracer_provider

from tickwork import __version__
from tickwork.config import Settings
from tickwork.model.errors import Invalid, TickworkError

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

SCOPE = "tickwork"  # the name of the instrumentation that makes the spans
_FLUSH_TIMEOUT = 3.0  # seconds for the last spans when a process stops: a collector may be down
_PROTOCOL = "http/protobuf"
_PROTOCOL_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SAMPLER = "OTEL_TRACES_SAMPLER"
_SAMPLER_ARGUMENT = "OTEL_TRACES_SAMPLER_ARG"
_FIXED_RATES = {"always_on": 1.0, "always_off": 0.0}
_RATIO = "traceidratio"

_uses_own_pipeline = False


class SpanPipeline(NamedTuple):
    provider: "TracerProvider"
    processor: "SpanProcessor"

    @property
    def tracer(self) -> Tracer:
        return self.provider.get_tracer(SCOPE, __version__)

    @property
    def resource(self) -> "Resource":
        return self.provider.resource

    def close(self) -> None:
        """Export what is left, for a limited time."""
        flush = Thread(target=self.provider.shutdown, name="tickwork last spans", daemon=True)
        flush.start()
        flush.join(_FLUSH_TIMEOUT)


def tracing_is_on(settings: Settings) -> bool:
    return settings.tracing and environ.get("OTEL_SDK_DISABLED", "").strip().lower() != "true"


def open_pipeline(service_name: str) -> SpanPipeline:
    """`service_name`: unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES names the service."""
    try:
        from tickwork.tracing.otlp_tracer_provider import exporting_provider  # noqa: PLC0415 (needs the extra)
    except ImportError as error:
        raise TickworkError(
            f"tracing is on, but {error.name} is not installed: pip install 'tickwork[otel]'"
        ) from None
    sampling_rate(environ)  # the SDK would sample everything if its variables were wrong
    _check_protocol(environ)
    return SpanPipeline(*exporting_provider(service_name))


def open_global_pipeline() -> SpanPipeline | None:
    """The pipeline of a worker's process: what its tasks record goes there, too. None if their code has set up
    OpenTelemetry for itself; then their pipeline gets our spans."""
    global _uses_own_pipeline  # noqa: PLW0603 (a process has one)
    if not isinstance(get_tracer_provider(), ProxyTracerProvider):
        return None
    pipeline = open_pipeline("tickwork-worker")
    set_tracer_provider(pipeline.provider)
    _uses_own_pipeline = True
    return pipeline


def uses_own_pipeline() -> bool:
    """Whether child processes of this one need a pipeline, too."""
    return _uses_own_pipeline


def sampling_rate(env: Mapping[str, str]) -> float:
    """The share of traces to record, of those that begin here. Raises Invalid."""
    sampler = env.get(_SAMPLER, "").strip().lower().removeprefix("parentbased_") or "always_on"
    if sampler in _FIXED_RATES:
        return _FIXED_RATES[sampler]
    if sampler != _RATIO:
        known = ", ".join((*_FIXED_RATES, _RATIO))
        raise Invalid.field(_SAMPLER, f"is one of {known}, also with parentbased_ before it")
    return _ratio(env.get(_SAMPLER_ARGUMENT, "").strip() or "1")


def _ratio(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise Invalid.field(_SAMPLER_ARGUMENT, f"is a share from 0 to 1, such as 0.01; got {text!r}")
    return rate


def _check_protocol(env: Mapping[str, str]) -> None:
    for variable in _PROTOCOL_VARIABLES:
        if env.get(variable, _PROTOCOL).strip() not in ("", _PROTOCOL):
            raise Invalid.field(
                variable, f"is {_PROTOCOL}; {env[variable]!r} is not supported", "use port 4318"
            )
