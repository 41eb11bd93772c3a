"""Every command is in the help, in the docs, and takes the options that all commands take."""

import re
from pathlib import Path

import click
import pytest

from tests.docs.blocks import ROOT, pages
from wikimem.cli import cli
from wikimem.cli.commands import COMMANDS

DESIGNED = re.findall(
    r"\w+",
    "init serve retrieve add remove diary show ls status related relate unrelate links pin unpin graph changes history "
    "restore diff explain grep embed rebuild reload config socket vaults doctor service mcp hook journal import report",
)

CONTEXT = click.Context(cli, info_name="wikimem")


def command(name: str) -> click.Command:
    found = cli.get_command(CONTEXT, name)
    assert found is not None
    return found


def leaves(name: str) -> list[click.Command]:
    """Return the command, or the commands of its group."""
    found = command(name)
    return list(found.commands.values()) if isinstance(found, click.Group) else [found]


def test_no_command_is_listed_that_the_design_does_not_have() -> None:
    assert set(COMMANDS) <= set(DESIGNED)


def test_the_commands_stand_in_the_designs_order() -> None:
    assert list(COMMANDS) == [name for name in DESIGNED if name in COMMANDS]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_can_be_imported_and_has_help(name: str) -> None:
    for one in leaves(name):
        assert one.help, f"{name} has no help"
    assert COMMANDS[name].help.endswith(".")
    assert len(COMMANDS[name].help) <= 68


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_the_command_says_what_it_does(name: str) -> None:
    for one in leaves(name):
        for parameter in one.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_takes_a_vault(name: str) -> None:
    if name == "service":
        pytest.skip("its commands take the vault's name as their argument")
    for one in leaves(name):
        options = {option for parameter in one.params for option in parameter.opts}
        assert "--vault" in options, f"{name} {one.name}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_is_described_in_the_docs(name: str) -> None:
    told = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    assert re.search(rf"`wikimem {name}\b|^\$ wikimem {name}\b", told, re.MULTILINE), f"no page tells of {name}"


def test_the_help_is_the_one_that_was_looked_at() -> None:
    told = cli.get_help(CONTEXT) + "\n"
    golden = Path(__file__).with_name("help.txt")
    assert told == golden.read_text(encoding="utf-8"), f"if this is meant, write it to {golden.relative_to(ROOT)}"


def test_the_help_has_one_section_of_commands() -> None:
    assert cli.get_help(CONTEXT).count("Commands:") == 1
