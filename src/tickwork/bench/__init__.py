"""Measures Tickwork on the machine it runs on: everything real, durable and with its history kept."""
