"""The only code that writes a person's files."""
