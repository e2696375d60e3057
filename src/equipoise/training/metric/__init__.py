"""Deep metric learning (paper 000): losses, miners and samplers, for one head or a stack of heads trained together.

Embeddings are ``[..., sample, dimension]`` and labels ``[..., sample]``: what stands before are heads, none of which
sees another. Shapes never depend on values, so nothing waits for a GPU to answer.
"""
