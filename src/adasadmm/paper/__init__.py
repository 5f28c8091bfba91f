"""The paper's experiment, the demonstration and the benchmark, each run by a command."""
