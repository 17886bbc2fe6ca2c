"""Schedules in plain English, read and written."""
