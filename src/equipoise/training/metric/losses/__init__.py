"""What an embedding is trained by, one file a loss, registered under its name (``equipoise list metric_losses``)."""
