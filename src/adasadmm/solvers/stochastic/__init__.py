"""The algorithms of the paper and their relatives: they read the rows in batches."""
