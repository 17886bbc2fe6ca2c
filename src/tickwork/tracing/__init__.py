"""Traces of executions, in OpenTelemetry: create → fire → hand over → attempt."""
