"""Mail: how it waits, whose turn it is, how fast it may leave."""
