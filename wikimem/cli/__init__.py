"""The `wikimem` command."""
