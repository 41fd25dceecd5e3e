"""Hours of jobs under faults, and how much memory a worker has at the end of each five minutes."""
