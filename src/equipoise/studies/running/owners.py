"""Who holds a lease: a process of a machine, by a name that tells other processes whether it still runs."""

from __future__ import annotations

import os
import secrets
import socket


def new_owner() -> str:
    """Name this process: machine, process number, and something that nobody else has."""
    return f"{machine()}:{os.getpid()}:{secrets.token_hex(4)}"


def machine() -> str:
    """Name this machine; another container counts as another machine, for its process numbers mean nothing here."""
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = ""
    return f"{socket.gethostname()}/{space}".replace(":", "_")


def is_dead(owner: str) -> bool:
    """Tell whether an owner was a process of this machine that runs no longer; of others nothing is known."""
    parts = owner.split(":")
    if len(parts) != 3 or parts[0] != machine() or not parts[1].isdecimal():
        return False
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
