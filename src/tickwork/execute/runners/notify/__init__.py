"""Delivers notifications to channels: what a message says, and one module for each kind of channel."""
