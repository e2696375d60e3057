"""Which triplets of a batch are learnt from, one file a miner (``equipoise list miners``)."""
