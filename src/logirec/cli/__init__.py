"""The command line: one small file per verb, no logic in it."""
