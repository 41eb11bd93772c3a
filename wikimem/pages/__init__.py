"""What a wiki file, a day, a journal line and a change are, as values."""
