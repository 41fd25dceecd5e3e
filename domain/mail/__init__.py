"""Mail: when it is sent again, what its failures mean, what is kept of it, whose turn it is, and its pace."""
