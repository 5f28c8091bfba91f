"""Experiments that a command runs."""
