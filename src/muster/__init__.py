"""Muster: a scheduler and cluster manager for machine-learning training on shared accelerators."""

__version__ = "0.1.0"
