"""Matrices of rows, row kernels, products, and the factorisations that the solvers need."""
