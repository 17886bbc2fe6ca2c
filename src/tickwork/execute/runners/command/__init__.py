"""Runs commands: programs that a worker allows."""
