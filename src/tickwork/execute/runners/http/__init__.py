"""HTTP jobs: one attempt is one request."""
