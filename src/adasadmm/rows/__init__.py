"""Rows: the formats of X, kernels on one row, products and Gram matrices in pieces on all cores."""
