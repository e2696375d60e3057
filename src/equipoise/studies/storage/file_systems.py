"""Which kind of file system a path lies on, as Linux tells it; elsewhere nothing is known and nothing is refused."""

from __future__ import annotations

import re
from pathlib import Path

from equipoise.foundation.errors import BadInput

MOUNTS = Path("/proc/self/mountinfo")

# Kinds of file systems that several machines may write to at once, or that pass locks on to another machine.
NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "9p", "afs", "coda", "ceph", "glusterfs", "lustre", "gpfs",
        "beegfs", "beegfs_nodev", "pvfs2", "orangefs", "gfs", "gfs2", "ocfs2", "davfs", "wekafs", "pnfs", "panfs",
        "acfs", "drvfs",
    }
)  # fmt: skip
# The same through a program of the user; other kinds of "fuse." (an encrypted folder, say) are local.
NETWORK_FUSE = re.compile(
    r"fuse\.(sshfs|s3fs|s3backer|rclone|gcsfuse|blobfuse2?|glusterfs|ceph(-fuse)?|davfs2?|curlftpfs|smbnetfs|mfs|moosefs"
    r"|seaweedfs|juicefs|goofys|hdfs|lustre|beegfs|gvfsd-fuse|osxfs|grpcfuse|mount-s3|weed)"
)


def kind_of(path: Path, mounts: Path | None = None) -> str | None:
    """Return the kind of the file system that holds a path (or will hold it), None where it cannot be told."""
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place, found, depth = path.absolute().resolve(), None, -1
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = Path(_plain(fields[4]))
        # Of two mounts on one point the later one hides the earlier.
        if len(point.parts) >= depth and place.is_relative_to(point):
            found, depth = after.split(" ")[0], len(point.parts)
    return found


def _plain(field: str) -> str:
    r"""Undo the kernel's spelling of blanks and the like: ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field)


def is_network(kind: str | None) -> bool:
    """Tell whether a kind of file system is shared over a network."""
    return kind is not None and (kind in NETWORK or NETWORK_FUSE.fullmatch(kind) is not None)


def refuse_network(path: Path) -> None:
    """Refuse a store where the locks of SQLite do not hold."""
    kind = kind_of(path)
    if is_network(kind):
        raise BadInput(
            f"The store {str(path)!r} would lie on a network file system ({kind}), "
            "where two machines could write over each other",
            available="a path on a local disk, or a PostgreSQL URL",
            help="use --store with a local path or postgresql://user@host/database; "
            "or run with --to DIR on each machine and merge the folders at home.",
        )
