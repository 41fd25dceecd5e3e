"""Holds the policy in use and reads it anew on demand."""

from pathlib import Path

from domain.errors import InvalidPolicy
from domain.policy import Policy
from workers.policy.file import load_policy


class PolicySource:
    """The policy in use; a reload that fails keeps the old one and raises why."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._policy = load_policy(path)

    def current(self) -> Policy:
        """The policy that decides now."""
        return self._policy

    def reload(self) -> Policy:
        """Read the file again; InvalidPolicy leaves the old policy in force and says so."""
        try:
            self._policy = load_policy(self._path)
        except InvalidPolicy as error:
            kept = f"policy {self._policy.label} stays in force"
            raise InvalidPolicy(*error.problems, kept) from error
        return self._policy
