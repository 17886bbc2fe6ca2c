"""Code, file or API call → stored job."""
