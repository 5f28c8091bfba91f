"""The active set of clusters: what the signs of differences leave is smooth and small."""
