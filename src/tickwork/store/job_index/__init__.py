"""The index that jobs are found by: which jobs have a term, as sets of bits, filled behind the writes."""
