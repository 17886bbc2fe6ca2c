"""Archives days of history as Parquet files, and reads them. Needs pyarrow, which is an extra."""
