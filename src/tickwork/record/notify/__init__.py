"""Tells users what happened: from events to messages for their channels."""
