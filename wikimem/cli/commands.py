"""Every command: where it lives, and its one line in the help.

The line is kept here so that `wikimem --help` imports no command's module. A command is listed once its module exists.
"""

from typing import NamedTuple


class Entry(NamedTuple):
    """One row: `module:object` of a click command, and its line in `wikimem --help`."""

    target: str
    help: str


COMMANDS: dict[str, Entry] = {
    "init": Entry("wikimem.cli.init:init", "Make a folder a vault; existing notes stay as they are."),
    "serve": Entry("wikimem.cli.serve:serve", "Run the daemon in the foreground."),
    "retrieve": Entry("wikimem.cli.retrieve:retrieve", "Find what the vault knows about a question."),
    "add": Entry("wikimem.cli.add:add", "Add an item, or replace the one of that name."),
    "remove": Entry("wikimem.cli.remove:remove", "Remove an item; its text stays in the history."),
    "diary": Entry("wikimem.cli.diary:diary", "Append to the diary, or show days of it."),
    "show": Entry("wikimem.cli.show:show", "Print one item."),
    "ls": Entry("wikimem.cli.ls:ls", "List categories, or the items of one."),
    "status": Entry("wikimem.cli.status:status", "Say how the daemon and its index are."),
    "related": Entry("wikimem.cli.related:related", "Walk the links from an item, heaviest path first."),
    "relate": Entry("wikimem.cli.related:relate", "Link two items by hand, with a weight."),
    "unrelate": Entry("wikimem.cli.related:unrelate", "Take a link out that was made by hand."),
    "links": Entry("wikimem.cli.links:links", "List links that lead nowhere, and repair them."),
    "pin": Entry("wikimem.cli.related:pin", "Keep an item warm: its temperature does not decay."),
    "unpin": Entry("wikimem.cli.related:unpin", "Let an item's temperature decay again."),
    "graph": Entry("wikimem.cli.graph:graph", "Write the graph as JSON, or as a page to look at."),
    "changes": Entry("wikimem.cli.changes:changes", "Say what changed since a cursor, or follow it live."),
    "history": Entry("wikimem.cli.history:history", "List the prior texts of an item, or purge them."),
    "restore": Entry("wikimem.cli.history:restore", "Put a prior text back; nothing is lost by it."),
    "diff": Entry("wikimem.cli.history:diff", "Compare two versions of an item."),
    "explain": Entry("wikimem.cli.explain:explain", "Show why each item is in its place."),
    "grep": Entry("wikimem.cli.grep:grep", "Search items by a regular expression."),
    "embed": Entry("wikimem.cli.embed:embed", "Make vectors of what has none, and show progress."),
    "rebuild": Entry("wikimem.cli.rebuild:rebuild", "Have the daemon read the whole vault again."),
    "reload": Entry("wikimem.cli.reload:reload", "Have the daemon read its configuration again."),
    "config": Entry("wikimem.cli.config:config", "Print the settings and where each came from."),
    "socket": Entry("wikimem.cli.socket:socket", "Print the path of the vault's socket."),
    "vaults": Entry("wikimem.cli.vaults:vaults", "List the configured vaults."),
    "doctor": Entry("wikimem.cli.doctor:doctor", "Look for what is wrong, and say what to do."),
    "service": Entry("wikimem.cli.service:service", "Run the daemon as a systemd service."),
    "mcp": Entry("wikimem.cli.mcp:mcp", "Serve the vault to an agent over MCP."),
    "hook": Entry("wikimem.cli.hook:hook", "Inject memory into a coding agent's prompts."),
    "journal": Entry("wikimem.cli.journal:journal", "Show what was written and what was seen on disk."),
    "import": Entry("wikimem.cli.importing:import_", "Bring notes from elsewhere into the vault."),
    "report": Entry("wikimem.cli.report:report", "Write a page about the state of the vault."),
}
