"""`wikimem doctor`: look for what is wrong, and say what to do. Exit status 0: nothing to do, 1: something is."""

import dataclasses
import os
from pathlib import Path

import click

from wikimem.api.protocol import StatusAnswer
from wikimem.cli.connection import answers, daemon_client
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json, print_line, print_text
from wikimem.config import Settings
from wikimem.doctor import examine
from wikimem.doctor_finding import verdict
from wikimem.errors import NotRunning
from wikimem.user_manager import is_installed

_MARK = {"ok": "ok     ", "note": "note   ", "warning": "WARNING", "error": "ERROR  "}


@click.command()
@vault_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, vault: str | None, *, as_json: bool) -> None:
    """Look at configuration, permissions, watching, state, socket, daemon, service and notes.

    Every finding comes with what to do about it. The exit status is 1 when there is something to be done.
    """
    findings = examine(vault, env=os.environ, cwd=Path.cwd(), ask_status=_ask)
    if as_json:
        print_json({"findings": [dataclasses.asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            print_line(f"{_MARK[finding.level]}  {finding.check}: {finding.detail}")
            if finding.hint:
                print_text(finding.hint, indent="         ")
    ctx.exit(verdict(findings))


def _ask(settings: Settings) -> StatusAnswer:
    """Ask the daemon, whether or not the vault's folder is there: a daemon keeps answering while its disk is away."""
    if not answers(settings):
        # What systemd knows of it is a finding of its own.
        installed = is_installed(settings.name, os.environ)
        raise NotRunning("no daemon runs", hint="" if installed else "`wikimem serve` starts one")
    return daemon_client(settings).status()
