"""`wikimem service`: the vault's daemon as a systemd service of the user."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wikimem import places, service_install, service_machine, service_plan, service_remove, user_manager
from wikimem.cli.connection import settings_for
from wikimem.cli.options import json_option
from wikimem.cli.output import note, print_json, print_table, safe
from wikimem.cli.reload import tell_reloaded
from wikimem.errors import NotFound, Unreachable, WikimemError
from wikimem.service_units import SANDBOX, check_name, service_of, socket_of
from wikimem.user_manager import UnitState

if TYPE_CHECKING:
    from wikimem.api.client import Client

_LINGER = "loginctl enable-linger"


@click.group()
def service() -> None:
    """Run a vault's daemon as a systemd service of yours.

    `install NAME PATH` writes the units, starts them and waits until the daemon answers. `uninstall NAME` takes
    everything out again; the vault itself is never touched.
    """


@service.command()
@click.argument("name")
@click.argument("path", required=False)
@click.option("--print", "only_print", is_flag=True, help="Show what would be written and run; change nothing.")
@click.option("--no-sandbox", is_flag=True, help="Leave the sandbox drop-in out, even where it would work.")
def install(name: str, path: str | None, only_print: bool, no_sandbox: bool) -> None:
    """Install, enable and start the service of the vault NAME, which lies at PATH.

    PATH may be left out for a vault that is configured. Running it again brings an installation up to date.
    """
    env = dict(os.environ)
    if only_print:
        plan = service_plan.plan_install(name, path, env=env, cwd=Path.cwd(), sandbox=not no_sandbox)
        _print_plan(plan)
        return
    # First what a person has to mend anyway, then whether systemd is there: the plan changes nothing.
    service_plan.plan_install(name, path, env=env, cwd=Path.cwd(), sandbox=False)
    user_manager.require_manager()
    refusal = "" if no_sandbox else service_machine.sandbox_refusal(service_plan.sandbox_dropin())
    sandbox = not no_sandbox and not refusal
    if refusal:
        note(f"no sandbox: user namespaces do not work here ({refusal})")
    plan = service_plan.plan_install(name, path, env=env, cwd=Path.cwd(), sandbox=sandbox)
    for line in plan.notes:
        note(line)
    service_install.install(plan, env=env, say=lambda text: click.echo(safe(text)))
    _print_linger(env)


@service.command()
@click.argument("name")
@click.option("--purge", is_flag=True, help="Remove the vault's history too. The vault itself is never touched.")
@click.option("--print", "only_print", is_flag=True, help="Show what would be removed and run; change nothing.")
def uninstall(name: str, purge: bool, only_print: bool) -> None:
    """Stop the service of the vault NAME and remove what `install` wrote."""
    env = dict(os.environ)
    if only_print:
        for line in service_remove.uninstall_steps(name, purge=purge, env=env):
            click.echo(safe(line))
        return
    user_manager.require_manager()
    service_remove.uninstall(name, purge=purge, env=env, say=lambda text: click.echo(safe(text)))


@service.command()
@click.argument("name", required=False)
@json_option
def status(name: str | None, as_json: bool) -> int:
    """Show the service of NAME, or of every vault that has one. Exit status 3: one is not running."""
    env = dict(os.environ)
    user_manager.require_manager()
    names = [name] if name else user_manager.installed_names(env)
    if as_json and not names:
        print_json({"services": [], "linger": service_machine.linger(env)})
    if not names or not all(user_manager.is_installed(one, env) for one in names):
        raise _no_service(name)
    found = [_state_of(one, env) for one in names]
    if as_json:
        print_json({"services": found, "linger": service_machine.linger(env)})
    else:
        for one in found:
            _print_state(one)
        _print_linger(env)
    return 0 if all(one["active"] == "active" for one in found) else 3


@service.command()
@click.argument("name")
def reload(name: str) -> None:
    """Have the daemon of NAME read its configuration again; what `systemctl --user reload` runs.

    Unlike `wikimem reload` it reads no configuration itself, so a wrong one is refused by the daemon, which says so in
    its status too.
    """
    with _client(name, timeout=30.0) as client:
        tell_reloaded(client.reload())


@service.command()
@click.argument("name", required=False)
@click.option("-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="How many lines.")
@click.option("-f", "--follow", is_flag=True, help="Go on printing as lines come.")
@click.option("--since", metavar="TIME", help="From when, as journalctl takes it: `-1h`, `today`.")
@json_option
def logs(name: str | None, lines: int, follow: bool, since: str | None, as_json: bool) -> None:
    """Show the journal of the service of NAME (of the vault around you)."""
    chosen = check_name(name) if name else settings_for(None).name
    journalctl = shutil.which("journalctl")
    if journalctl is None:
        raise Unreachable("there is no journal here (no `journalctl`)", hint="`wikimem serve` logs to standard error")
    if not user_manager.is_installed(chosen, os.environ) and not user_manager.has_logged(chosen):
        raise _no_service(chosen)
    words = ["--user", "--no-hostname", "-u", service_of(chosen), "-n", str(lines)]
    words += ["-f"] if follow else []
    words += ["--since", since] if since else []
    words += ["-o", "json"] if as_json else []
    sys.stdout.flush()
    os.execve(journalctl, ["journalctl", *words], {**user_manager.environment(os.environ)})  # noqa: S606 - no shell


def _no_service(name: str | None) -> NotFound:
    asked = f" for a vault {name}" if name else ""
    return NotFound(f"no service is installed{asked}", hint="install one: `wikimem service install NAME PATH`")


def _print_plan(plan: service_plan.Plan) -> None:
    for folder in plan.made:
        click.echo(f"# folder {safe(str(folder))} (0700)")
    for file in plan.files:
        click.echo(f"# file {safe(str(plan.folder / file.path))}")
        if str(file.path) == SANDBOX:
            click.echo("# only if `systemd-run --user --wait --quiet -p PrivateUsers=yes true` succeeds")
        click.echo(file.text)
    if plan.config is not None:
        click.echo(f"# file {safe(str(plan.config_file))}")
        click.echo(plan.config.decode("utf-8", "replace"))
    for command in plan.commands:
        click.echo(f"systemctl --user {' '.join(command)}")
    for line in plan.notes:
        note(line)


def _print_linger(env: dict[str, str]) -> None:
    lingers = service_machine.linger(env)
    if lingers:
        click.echo("lingering is on: the service runs without a login")
    else:
        known = "off: the service ends with your last session" if lingers is False else "unknown here"
        click.echo(f"lingering is {known}. To keep it running: {_LINGER}")


def _client(name: str, *, timeout: float) -> "Client":
    """Return a client that finds the daemon by its name alone: the configuration may be what is broken."""
    from wikimem.api.client import Client  # noqa: PLC0415 - installing needs none

    path, _ = places.socket_file(check_name(name), env=os.environ, cwd=Path.cwd())
    return Client(path, timeout=timeout)


def _daemon_says(name: str) -> dict[str, Any]:
    """Return what the running daemon tells of its version; it may be busy, and that is no reason to fail."""
    try:
        with _client(name, timeout=3.0) as client:
            told = client.status(fresh=False)
    except WikimemError as error:
        return {"version": None, "restart_needed": None, "state": error.message}
    return {key: told.get(key) for key in ("version", "restart_needed", "state")}


def _state_of(name: str, env: dict[str, str]) -> dict[str, Any]:
    service_unit, socket_unit = service_of(name), socket_of(name)
    state = user_manager.unit_state(service_unit) or UnitState(service_unit)
    socket_state = user_manager.unit_state(socket_unit) or UnitState(socket_unit)
    failed = user_manager.failed_unit(name)
    folder = user_manager.units_folder(env)
    return {
        "name": name,
        "unit": service_unit,
        "active": state.active,
        "sub": state.sub,
        "enabled": state.enabled,
        "pid": state.main_pid,
        "restarts": state.restarts,
        # What a process that was stopped had said last says nothing of now.
        "status": state.status_text if state.active != "inactive" else "",
        "socket": socket_state.active,
        "sandbox": (folder / SANDBOX).is_file(),
        # Only of a running one: a connection to the socket alone would start the daemon.
        "daemon": _daemon_says(name) if state.active == "active" else None,
        "failed": {"unit": failed.unit, "result": failed.result, "last_line": failed.last_line, "hint": failed.hint}
        if failed
        else None,
    }


def _print_state(state: dict[str, Any]) -> None:
    pid = f", pid {state['pid']}" if state["pid"] else ""
    restarts = f", restarted {state['restarts']} times" if state["restarts"] else ""
    rows = [
        (state["unit"], f"{state['active']} ({state['sub']}){pid}{restarts}, {state['enabled'] or 'not enabled'}"),
        ("  socket", state["socket"]),
        ("  sandbox", "on" if state["sandbox"] else "off"),
    ]
    daemon = state["daemon"]
    if daemon:
        newer = "; another version is installed" if daemon["restart_needed"] else ""
        rows.append(("  daemon", f"{daemon['state']}, version {daemon['version'] or 'unknown'}{newer}"))
        if newer:
            rows.append(("  next", f"`systemctl --user restart {state['unit']}`: clients wait meanwhile"))
    if state["status"].strip():
        rows.append(("  says", state["status"]))
    if state["failed"]:
        rows.append(("  failed", f"{state['failed']['unit']}: {state['failed']['result']}"))
        rows.append(("  last line", state["failed"]["last_line"] or "none"))
        rows.append(("  next", state["failed"]["hint"]))
    print_table(rows)
