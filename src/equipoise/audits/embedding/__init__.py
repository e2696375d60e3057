"""Embeddings on trial: is the space as good for every group?"""
