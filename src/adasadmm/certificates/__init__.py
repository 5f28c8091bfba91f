"""What a run leaves behind: its trace, its status, and the duality gap that certifies its answer."""
