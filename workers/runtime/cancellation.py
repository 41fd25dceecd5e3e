"""Tells our own stop from a call that somebody else cancelled, such as the owner of its channel."""

import asyncio


def is_ours() -> bool:
    """Whether the task that runs here was itself asked to end."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
