"""The words of Tickwork as frozen values. Nothing here does any I/O."""
