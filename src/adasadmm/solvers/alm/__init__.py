"""The augmented Lagrangian method and the proximal Newton method."""
