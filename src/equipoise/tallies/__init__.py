"""Mergeable sufficient statistics: counts, score histograms and residual moments.

Everything an audit says is computed from these small tables, never from rows, so that one file, a folder of shards
and a table in a database give the same answer.
"""
