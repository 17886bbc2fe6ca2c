"""Authenticates callers: tenants and API keys. Also expires idempotency keys."""
