"""Searches jobs: the index says which to look at, and each is read and checked again."""
