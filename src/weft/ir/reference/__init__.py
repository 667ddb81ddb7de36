"""The reference interpreter: the definition of what a program means."""
