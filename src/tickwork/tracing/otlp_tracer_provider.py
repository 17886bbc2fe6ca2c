"""OpenTelemetry's SDK and its OTLP exporter. Imported only when tracing is on: they come with the extra `otel`."""

from functools import cached_property

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tickwork import __version__


class _HashedOnce(Resource):
    """The exporter hashes the resource of every span, for which a Resource writes itself as JSON."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()


def exporting_provider(service_name: str) -> tuple[TracerProvider, SpanProcessor]:
    processor = BatchSpanProcessor(OTLPSpanExporter())
    provider = TracerProvider(resource=_resource(service_name), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider, processor


def _resource(service_name: str) -> Resource:
    """What the variables say has precedence."""
    named = Resource({"service.name": service_name, "service.version": __version__})
    resource = Resource.create().merge(named).merge(OTELResourceDetector().detect())
    return _HashedOnce(resource.attributes, resource.schema_url)
