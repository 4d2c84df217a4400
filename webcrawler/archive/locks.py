"""Whose file is it: a lock on every file being written, gone with the process that holds it."""

from __future__ import annotations

import fcntl


def try_lock(descriptor: int) -> bool:
    """Take the file's lock; False when another open file, of whichever process, holds it.

    The lock belongs to the open file and not to the process (flock, not lockf), so that reading
    the same file in the writing process does not let it go.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: sharing a folder there is the user's risk.
        return True
    return True
