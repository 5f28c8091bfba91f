"""Factorisations and systems: Newton's, quadratics of the w-step, chains, cuts."""
