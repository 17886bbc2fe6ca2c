"""One seed, one history: real nodes on a real database, everything around them simulated."""
