"""Runs processes within limits, and ends them with all that they start."""
