"""A person's orders on the command line, with what each of them asks for."""

SIGNED = {
    "claim": {"cancel", "review", "resolve", "bulk"},
    "dlq": {"redrive", "purge"},
    "payer": {"pause", "trip", "resume", "probe"},
}
UNCONFIRMED = {"resume", "probe"}


def answered(*arguments: str) -> tuple[str, ...]:
    """The command with a reason, and with a yes where it would ask for one."""
    group, command, *_ = (*arguments, "", "")
    if command not in SIGNED.get(group, ()):
        return arguments
    reason = () if "--reason" in arguments else ("--reason", "a test")
    yes = () if "--yes" in arguments or command in UNCONFIRMED else ("--yes",)
    return (*arguments, *reason, *yes)
