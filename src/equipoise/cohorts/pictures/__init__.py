"""Pictures as a column: readers of CIFAR-10's files and of picture files, and what is done to a picture's domain."""
