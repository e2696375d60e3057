"""Which rows make up a batch, one file a sampler (``equipoise list samplers``)."""
