"""What can go wrong before a decision, as a tree; each error says in one line what to do.

DomainError
├── InvalidInput     a process variable or task header is wrong: an incident, mended in Operate, then retried
└── InvalidPolicy    the policy is wrong: nothing is decided by it until the file is mended
"""


class DomainError(Exception):
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
