"""The console over a hospital's whole history: how long each page takes, and fifty people at once."""
