"""The solver for problems in which X is diagonal: `total_variation` chooses a strategy, and each has a file."""
