"""What attempts print and log, on its way to the server."""
