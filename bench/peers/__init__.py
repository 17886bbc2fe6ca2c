"""Other task queues, each in its documented fast path, with the same task and ledger as Tickwork's scenarios."""
