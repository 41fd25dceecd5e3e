"""One file per page: read, make a view value, render."""
