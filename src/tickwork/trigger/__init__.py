"""Creates the executions of due times: a rule and the clock go in, executions come out."""
