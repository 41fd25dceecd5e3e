"""Acts: job handlers, the worker runtime, the command line and the composition root."""
