"""In one package, so that its files share a Chromium."""
