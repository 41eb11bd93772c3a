"""Install a vault's daemon as a service of the user, in an order that can be run again after it was cut short."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from wikimem import places, service_units, user_manager
from wikimem.errors import ConfigError, Locked, WikimemError
from wikimem.service_elsewhere import elsewhere
from wikimem.service_files import listens, read_bytes, replace_file
from wikimem.service_plan import Plan
from wikimem.service_units import service_of, socket_of
from wikimem.user_manager import Run, run, systemctl

Say = Callable[[str], None]


def install(plan: Plan, *, env: Mapping[str, str], run: Run = run, say: Say) -> None:
    """Carry the plan out and wait until the daemon is ready; raises `WikimemError` when it does not become so."""
    name = plan.instance.name
    before = user_manager.unit_state(service_of(name), run=run)
    running = before is not None and before.active == "active"
    if not running:
        _refuse_other_daemon(plan, env=env, run=run)
    changed = _write_units(plan, say)
    user_manager.tell(*plan.commands[0], run=run)
    _require_found(plan, changed, run=run)
    if not running:
        _take_history_along(plan, say)
    for folder in plan.made:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if plan.config is not None:
        replace_file(plan.config_file, plan.config, new_mode=0o600)
        say(f"added [vaults.{name}] to {plan.config_file}")
    user_manager.tell(*plan.commands[1], run=run)
    if running:
        # The new files and, after an upgrade, the new code. Clients wait in the socket's backlog meanwhile.
        if service_units.SOCKET in changed:
            user_manager.tell("restart", socket_of(name), run=run)
        _start("restart", service_of(name), name=name, run=run)
    else:
        systemctl("reset-failed", socket_of(name), service_of(name), run=run)
        _start("start", socket_of(name), service_of(name), name=name, run=run)
    say(f"{service_of(name)} is ready")
    hidden = elsewhere(name, places.runtime_folder(env)[0] / f"{name}.sock", run=run)
    if hidden is not None:
        say(f"but {hidden.message}\n  {hidden.hint}")


def _refuse_other_daemon(plan: Plan, *, env: Mapping[str, str], run: Run) -> None:
    """Systemd would remove the socket file of a daemon that was started by hand, and two would fight for the vault."""
    name = plan.instance.name
    held = user_manager.unit_state(socket_of(name), run=run)
    names = [places.name_of(plan.instance.vault)]
    if held is None or held.active != "active":
        names.append(name)
    for one in names:
        file, _ = places.socket_file(one, env=env, cwd=Path.cwd())
        if listens(file):
            raise Locked(
                f"a daemon that systemd did not start answers on {file}",
                hint="stop it (Ctrl-C where `wikimem serve` runs), then install the service",
            )


def _take_history_along(plan: Plan, say: Say) -> None:
    """Move the history of a vault that had no name: it lies under one made from its path, where nobody looks now."""
    unnamed = plan.instance.state / places.name_of(plan.instance.vault)
    named = plan.instance.state / plan.instance.name
    if unnamed.is_dir() and not named.exists():
        unnamed.rename(named)
        say(f"moved the vault's history from {unnamed} to {named}")


def _write_units(plan: Plan, say: Say) -> set[str]:
    """Write the unit files that differ, remove drop-ins of an earlier plan; return what changed."""
    changed = set()
    wanted = {plan.folder / file.path: file for file in plan.files}
    for target, file in wanted.items():
        if read_bytes(target) != file.text.encode():
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, file.text.encode(), new_mode=0o644)
            changed.add(str(file.path))
            say(f"wrote {target}")
    places_of_ours = [plan.folder / service_units.SANDBOX]
    places_of_ours += (plan.folder / service_units.dropins_of(plan.instance.name)).glob("*.conf")
    for stale in places_of_ours:
        if stale not in wanted and stale.exists():
            stale.unlink()
            changed.add(str(stale.relative_to(plan.folder)))
            say(f"removed {stale}")
    return changed


def _require_found(plan: Plan, changed: set[str], *, run: Run) -> None:
    """Raise `ConfigError`, and take the new files away, unless systemd looks where they were written."""
    service = service_of(plan.instance.name)
    # The drop-in, not the units: these may be there for another vault, in the folder where systemd does look.
    answer = systemctl("show", service, "-p", "DropInPaths", run=run)
    if answer.status != 0 or f"{service}.d/10-vault.conf" in answer.out:
        return
    for file in sorted(changed, reverse=True):
        (plan.folder / file).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (plan.folder / file).parent.rmdir()
    for empty in (plan.folder, plan.folder.parent):
        with contextlib.suppress(OSError):
            empty.rmdir()
    raise ConfigError(
        f"the systemd of this user does not look into {plan.folder}",
        hint="XDG_DATA_HOME or HOME is another one there: unset it here, see `systemctl --user show-environment`",
    )


def _start(*command: str, name: str, run: Run) -> None:
    answer = systemctl(*command, run=run)
    if answer.status == 0:
        return
    state = user_manager.unit_state(service_of(name), run=run)
    line = user_manager.last_line(state, run=run) if state is not None else ""
    reason = line or user_manager.first_line(answer.err) or f"systemctl ended with {answer.status}"
    hint = f"`wikimem service logs {name}` shows more; then `wikimem service install {name}` again"
    error = ConfigError if state is not None and state.exit_status == ConfigError.exit_status else WikimemError
    raise error(f"{service_of(name)} did not start: {reason}", hint=hint)
