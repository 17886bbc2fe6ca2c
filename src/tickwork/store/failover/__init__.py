"""What a node does when another server takes the place of its database."""
