"""Find the files that are shipped beside the code: the vault template and the systemd units."""

from pathlib import Path
from typing import Literal

from wikimem.errors import StorageError

_PACKAGE = Path(__file__).resolve().parent


def shipped(name: Literal["vault_template", "systemd"]) -> Path:
    """Return the folder: inside the package in an installed wheel, beside it in a checkout.

    A checkout is known by its `pyproject.toml`: in site-packages a neighbour called `systemd` is somebody else's
    package. Raises `StorageError` when the installation lacks the folder.
    """
    checkout = _PACKAGE.parent
    candidates = [_PACKAGE / "_shipped" / name]
    if (checkout / "pyproject.toml").is_file():
        candidates.append(checkout / name)
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise StorageError(
        f"this installation of wikimem lacks its {name}",
        path=str(candidates[0]),
        hint="install it again from a wheel: `pip install --force-reinstall wikimem`",
    )
