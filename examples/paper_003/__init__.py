"""The parts of ``examples/paper_003_lfr.py``: people, fits, what is measured, and figures."""
