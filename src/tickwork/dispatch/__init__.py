"""Due execution → leased claim: connected workers, claims, limits, leases and the rescue from lost workers."""
