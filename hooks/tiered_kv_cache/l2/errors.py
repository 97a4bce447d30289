"""What an error of the filesystem means for the tier: which label it has, and who must react."""

from __future__ import annotations

import errno

LABELS = {
    errno.ENOSPC: "ENOSPC",
    errno.EDQUOT: "EDQUOT",
    errno.EIO: "EIO",
    errno.ENOTCONN: "ENOTCONN",
    errno.EROFS: "EROFS",
    errno.ESTALE: "ESTALE",
    errno.ENOENT: "ENOENT",
    errno.ENOTDIR: "ENOENT",
    errno.EACCES: "EACCES",
    errno.EPERM: "EACCES",
    errno.ETIMEDOUT: "ETIMEDOUT",
    errno.ENODATA: "ENODATA",
    errno.ENOSYS: "ENOSYS",
    errno.EOPNOTSUPP: "ENOSYS",
}
OTHER = "other"
"""Every other errno: labels stay bounded."""

GONE = frozenset({errno.ENOTCONN, errno.ESTALE, errno.ENODEV, errno.ENXIO, errno.EHOSTDOWN, errno.ETIMEDOUT})
"""The mount as a whole does not answer: nothing else is asked until a probe succeeds."""
NO_STORES = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK}
)
"""From a store: the next one would meet the same, while reads go on."""
UNREADABLE = frozenset({errno.EIO, errno.ENODATA, errno.EBADMSG, errno.EUCLEAN})
"""From a read: this file has lost its bytes, for now or for good; it is not asked again for a while, and a store replaces it."""

LINK = errno.ELOOP
"""A symbolic link, or what cannot be opened at all, at an object's place."""

# Causes of a miss, a drop or a failed store that are no errno.
BREAKER = "breaker"
STUCK = "stuck"
DEADLINE = "deadline"
STALL = "stall"
QUEUE_FULL = "queue_full"
KEY = "name"
CLOSED = "closed"
INTERNAL = "internal"
KNOWN_UNREADABLE = "unreadable"


def label(err: OSError) -> str:
    """The metric label of an error: one of a bounded set."""
    return LABELS.get(err.errno or 0, OTHER)
