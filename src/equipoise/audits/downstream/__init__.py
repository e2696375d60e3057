"""What carries over: classifiers trained on a frozen embedding."""
