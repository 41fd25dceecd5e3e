"""The retry policy as a file: reading, overriding, checking, comparing, drawing."""

from workers.policy.file import PolicySource, load_policy, parse_policy

__all__ = ["PolicySource", "load_policy", "parse_policy"]
