"""Captures what attempts print and log, and sends it to the server."""
