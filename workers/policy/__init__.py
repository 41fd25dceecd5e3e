"""The retry policy as a file: reading, overriding, checking, comparing, drawing."""

from workers.policy.file import load_policy, parse_policy
from workers.policy.source import PolicySource

__all__ = ["PolicySource", "load_policy", "parse_policy"]
