"""Small data and plans that tests of several folders use."""
