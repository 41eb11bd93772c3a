"""Whether an installed service still is what `wikimem service install` would write: paths move, environments go."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wikimem import service_plan, service_units, user_manager
from wikimem.errors import WikimemError
from wikimem.service_files import read_bytes

_INTERPRETER = re.compile(r'^ExecStart="((?:[^"\\]|\\.)+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Drift:
    """One way in which the installed files and the rest have grown apart. `fatal`: the next start will fail.

    `hint`: what is to be mended before an installation can cure anything.
    """

    detail: str
    fatal: bool = False
    hint: str = ""


def drift(name: str, *, env: Mapping[str, str], cwd: Path) -> list[Drift]:
    """Compare the files of the vault's service with what would be written now, for the interpreter that they name.

    Looks at files only. An installation cures all that is found.
    """
    folder = user_manager.units_folder(env)
    own = folder / service_units.dropins_of(name)
    dropin = read_bytes(own / "10-vault.conf").decode("utf-8", "replace")
    python = interpreter(dropin)
    if python is None or not python.exists():
        return [Drift(f"the Python that it runs is gone: {python or 'none is named'}", fatal=True)]
    sandbox = (folder / service_units.SANDBOX).is_file()
    try:
        plan = service_plan.plan_install(name, None, env=env, cwd=cwd, sandbox=sandbox)
    except WikimemError as error:
        return [Drift(error.message, hint=error.hint)]
    instance = replace(plan.instance, python=python)
    wanted = service_units.instance_files(instance, service_plan.shipped_units(), sandbox=sandbox)
    different = [file for file in wanted if read_bytes(folder / file.path) != file.text.encode()]
    found = []
    if f"Environment={service_units.quoted(f'WIKIMEM_VAULT={instance.vault}')}\n" not in dropin:
        found.append(Drift(f"it was installed for another folder than {instance.vault}"))
        different = [file for file in different if file.path.parent != service_units.dropins_of(name)]
    if different:
        names = ", ".join(str(file.path) for file in different)
        found.append(Drift(f"not as this version and the configuration have it: {names}"))
    return found


def interpreter(dropin: str) -> Path | None:
    """Return the Python that a `10-vault.conf` names, None when it names none."""
    named = _INTERPRETER.search(dropin)
    if named is None:
        return None
    return Path(re.sub(r"\\(.)", r"\1", named[1].replace("$$", "$").replace("%%", "%")))
