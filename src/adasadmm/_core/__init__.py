"""Compilation, threads and files: everything here works without knowing the mathematics."""
