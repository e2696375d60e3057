"""What can be trained, one file a learner, registered under its name (``equipoise list learners``)."""
