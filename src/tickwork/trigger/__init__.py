"""Rule and clock to executions: when is a schedule due, and firing it then."""
