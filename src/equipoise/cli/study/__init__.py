"""``equipoise study``: one small file a command."""
