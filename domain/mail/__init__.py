"""Mail: when it is sent again, what its failures mean, and what is kept of mail that died."""
