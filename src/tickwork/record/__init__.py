"""Outcome → transition, history, events."""
