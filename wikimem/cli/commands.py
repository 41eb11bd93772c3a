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
    "rebuild": Entry("wikimem.cli.rebuild:rebuild", "Have the daemon read the whole vault again."),
    "reload": Entry("wikimem.cli.reload:reload", "Have the daemon read its configuration again."),
    "config": Entry("wikimem.cli.config:config", "Print the settings and where each came from."),
    "socket": Entry("wikimem.cli.socket:socket", "Print the path of the vault's socket."),
    "vaults": Entry("wikimem.cli.vaults:vaults", "List the configured vaults."),
    "doctor": Entry("wikimem.cli.doctor:doctor", "Look for what is wrong, and say what to do."),
    "service": Entry("wikimem.cli.service:service", "Run the daemon as a systemd service."),
    "import": Entry("wikimem.cli.importing:import_", "Bring notes from elsewhere into the vault."),
    "report": Entry("wikimem.cli.report:report", "Write a page about the state of the vault."),
}
