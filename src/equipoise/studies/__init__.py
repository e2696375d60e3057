"""Plans of many trials: run, resumed, kept and read. A trial is never lost and never run twice."""
