"""What identical runs of a study say, in the manner of paper 004."""
