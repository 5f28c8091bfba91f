"""Matrices of rows, their products, and the factorisations that the solvers need."""
