"""What a user's program imports: App, tasks, workflows, and handles of submitted jobs."""
