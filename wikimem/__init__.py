"""An Obsidian-compatible vault sync daemon for agent memory."""
