"""The API on a real node with a real database. Every answer is held against the OpenAPI document."""
