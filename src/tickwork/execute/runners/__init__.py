"""Runs one attempt: one file for each kind of task."""
