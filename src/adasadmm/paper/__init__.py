"""The paper's experiment and the demonstration, each run by a command."""
