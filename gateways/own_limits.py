"""Limits of our own machine: whoever runs into one must not blame the other side."""

import errno
import os
from collections.abc import Iterator

NO_FILES = "out of file descriptors: raise the limit (ulimit -n)"
_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_MEMORY = frozenset({errno.ENOMEM, errno.ENOBUFS})
_NO_THREAD = "can't start new thread"


def own_limit(error: BaseException) -> str | None:
    """The code of the limit that stands behind a failure, if one does; names are looked up in files."""
    for reason in reasons(error):
        number = reason.errno if isinstance(reason, OSError) else None
        if number in _FILES or (_is_no_answer(reason) and lacks_descriptors()):
            return "NET:OWN_FILES"
        if number in _MEMORY or isinstance(reason, MemoryError):
            return "NET:OWN_MEMORY"
        if isinstance(reason, RuntimeError) and _NO_THREAD in str(reason):
            return "NET:OWN_THREADS"
    return None


def _is_no_answer(reason: BaseException) -> bool:
    """Whether nobody answered; a name that no file is left to look up fails with any errno there is."""
    return isinstance(reason, OSError) and not isinstance(reason, ConnectionError | TimeoutError)


def reasons(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that stands behind it."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for member in error.exceptions:
                yield from reasons(member)
        error = error.__cause__ or error.__context__


def lacks_descriptors() -> bool:
    """Whether not one more file can be opened now."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in _FILES
    return False
