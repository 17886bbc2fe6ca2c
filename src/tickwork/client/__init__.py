"""The Python SDK's way to a server: sync and async clients for the REST API, and the worker's connection."""
