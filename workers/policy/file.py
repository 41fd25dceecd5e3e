"""Reads a policy file into the domain's Policy, every problem at once, and reads it anew on demand."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from domain.errors import InvalidPolicy, plain_words
from domain.policy import Policy
from workers.policy.build import build_policy
from workers.policy.schema import PolicyFile

FILE_MAX_BYTES = 1_000_000


class PolicySource:
    """The policy in use: one that was adopted, else the settings' own; a reload that fails keeps the old."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._text = policy_text(path)
        self._own = parse_policy(self._text)
        self._adopted: Policy | None = None

    def current(self) -> Policy:
        """The policy that decides now."""
        return self._adopted or self._own

    @property
    def own(self) -> Policy:
        """The settings' own policy, whether another was adopted or not."""
        return self._own

    @property
    def own_text(self) -> str:
        """The settings' own policy as it is written."""
        return self._text

    @property
    def has_file(self) -> bool:
        """Whether the settings name a file, or the packaged policy is their own."""
        return self._path is not None

    def follow(self, adopted: Policy | None) -> None:
        """Decide by a policy that was adopted from now on; without one by the settings' own."""
        self._adopted = adopted

    def reload(self) -> Policy:
        """Read the file again; InvalidPolicy leaves the old policy in force and says so."""
        try:
            text = policy_text(self._path)
            self._own, self._text = parse_policy(text), text
        except InvalidPolicy as error:
            kept = f"policy {self.current().label} stays in force"
            raise InvalidPolicy(*error.problems, kept) from error
        return self._own


def load_policy(path: Path | None = None) -> Policy:
    """Read the policy from a file, or the packaged default; a bad file raises InvalidPolicy."""
    return parse_policy(policy_text(path))


def policy_text(path: Path | None = None) -> str:
    """The text of a policy file, or of the packaged one."""
    return default_text() if path is None else _text(path)


def parse_policy(text: str) -> Policy:
    """Read the policy from the text of a file."""
    try:
        return build_policy(PolicyFile.model_validate(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise InvalidPolicy(f"not a TOML file: {error}") from error
    except RecursionError as error:
        raise InvalidPolicy("not a policy file: its values are nested too deeply") from error
    except ValidationError as error:
        raise InvalidPolicy(*(_line(problem) for problem in error.errors())) from error


def default_text() -> str:
    """The text of the packaged policy file."""
    return files("workers.policy").joinpath("default.toml").read_text(encoding="utf-8")


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > FILE_MAX_BYTES:
            raise InvalidPolicy(f"{path} is larger than {FILE_MAX_BYTES} bytes: is it a policy file?")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidPolicy(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidPolicy(f"{path} is not UTF-8 text") from error


def _line(problem: Any) -> str:
    place = ".".join(str(step) for step in problem["loc"])
    return f"{place}: {plain_words(problem['msg'])}"
