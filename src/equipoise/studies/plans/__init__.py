"""What is planned: a plan's text, its design, and the stacks of trials it becomes."""
