"""One module per kind of row: reads and writes it, never commits."""
