"""The benchmark on sprites of Li and Xu (2021): biased classifiers, generators, planes of truth, and every method."""
