"""Plans of many trials: run, resumed, kept and read. A trial is never lost and never run twice.

study.py is the door, trial.py what one training is and recorded.py what it left; plans/ is what shall be trained,
running/ trains it, storage/ keeps it and findings/ says what it means.
"""
