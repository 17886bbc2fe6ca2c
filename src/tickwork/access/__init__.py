"""Who may call: tenants and API keys."""
