"""What can go wrong, as a tree; each error says in one line what happened and what to do.

Trouble                anything foreseen that a person can mend; every layer's own errors are kinds of it
├── Refusal            a file is not taken in as a claim: which field, which rule, what to do
├── ClaimRefusal       what was asked of a claim makes no sense in its state
└── DomainError
    ├── InvalidInput   a process variable or task header is wrong: an incident, to be mended in Operate
    ├── InvalidPolicy  the policy is wrong: nothing is decided by it until the file is mended
    └── InvalidDeadLetter  a dead letter without a reason (domain/mail)
"""

from typing import ClassVar


class Trouble(Exception):  # noqa: N818 - it is foreseen, and no failure of ours
    """Something foreseen that a person can mend; `str()` is one line that says what to do."""

    exit_code: ClassVar[int] = 1
    log_lines: tuple[str, ...] = ()


class DomainError(Trouble):
    """Base of all errors of the decision; trying again unchanged never helps."""


class InvalidInput(DomainError):  # noqa: N818 - it names a state, not a failure
    """A variable or header that breaks a rule; `str()` is the one-line message of the incident."""

    def __init__(self, variable: str, value: str, *, rule: str, problem: str, remedy: str) -> None:
        self.variable = variable
        self.value = value
        self.rule = rule
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{variable} is {value}: {problem} (rule {rule}). {remedy}")


class InvalidPolicy(DomainError):  # noqa: N818 - it names a state, not a failure
    """A policy that cannot be used, with every problem found, each one line."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("Policy rejected: " + "; ".join(problems))


_PLAIN = {"Extra inputs are not permitted": "no such name is known here: see how it is spelt"}


def plain_words(message: str) -> str:
    """A validator's message without the library's own preface."""
    return _PLAIN.get(message, message.removeprefix("Value error, "))
