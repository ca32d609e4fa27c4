"""Draws that are followed while a sampler runs: files, stores, samplers and generators that grow."""
