"""Embedding spaces of a study's trials: are they as good for every group, and what is built on them (paper 000)?"""
