"""One file a cohort: each registers a function that returns a Cohort, from bundled data or a local copy."""
