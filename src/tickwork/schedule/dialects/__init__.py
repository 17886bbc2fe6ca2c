"""Schedules in the notations of other programs: AWS, systemd, crontab."""
