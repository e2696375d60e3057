"""The commands: one small file each, ``equipoise study`` with all of its own."""
