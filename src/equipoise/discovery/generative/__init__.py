"""Generators trained here: five variational auto-encoders and a small GAN, from pictures to a file of weights."""
