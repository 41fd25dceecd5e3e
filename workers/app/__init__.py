"""The composition root, and what runs around it: serving, probes, logs, metrics."""
