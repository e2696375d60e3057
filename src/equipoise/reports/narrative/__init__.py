"""One module for each kind of result: what its findings mean in words, and which charts show it.

``equipoise.reports`` says how to add one.
"""
