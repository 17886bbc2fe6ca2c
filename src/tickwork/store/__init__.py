"""The only SQL: one store, PostgreSQL, embedded or given by URL."""
