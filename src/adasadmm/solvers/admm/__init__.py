"""ADMM with all rows: in batch form, and with copies of the coefficients for networks."""
