"""What a user's program imports: the app, its tasks, workflows, handles of submitted jobs."""
