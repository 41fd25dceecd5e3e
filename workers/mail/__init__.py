"""Use cases of mail: whose turn it is, and how fast it may leave."""
