"""What another process may hold up for a moment: tried for a while, never for ever."""

import contextlib
import errno
import fcntl
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

PATIENCE_S = 10.0
PAUSE_S = 0.02

#: Some parallel file systems are mounted without locks.
NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)

T = TypeVar("T")


def patiently(action: Callable[[], T], passing: int) -> T:
    """Return what `action` returns, tried again while it raises the passing error, for a while."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return action()
        except OSError as error:
            if error.errno != passing or time.monotonic() > deadline:
                raise
        time.sleep(PAUSE_S)


@contextlib.contextmanager
def locked(descriptor: int) -> Iterator[bool]:
    """Keep other runs out of a file; yields False where the file system has no locks. Raises OSError in the end."""
    try:
        patiently(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB), errno.EAGAIN)
    except BlockingIOError as error:
        raise OSError(errno.EAGAIN, f"another process has had it locked for {PATIENCE_S:.0f} s") from error
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
