"""Architectures and nothing else. torch is imported when a network is built."""
