"""How Python programs reach a server: sync and async clients for the REST API, and the worker's connection."""
