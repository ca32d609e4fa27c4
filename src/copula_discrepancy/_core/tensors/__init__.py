"""Loops over many pairs of variables as operations on PyTorch tensors: the counterpart of `kernels` on a graphics processor.

Modules here, except `device`, import PyTorch, and are imported when a device is asked for. Numbers are float64 throughout;
counts are exact.
"""
