"""Attacks that once got through, each with the input that did it."""
