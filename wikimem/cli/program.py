"""The `wikimem` that runs, for who is to run it from elsewhere: another terminal, a tool's settings."""

import os
import sys
from pathlib import Path


def own_program() -> Path | None:
    """Return the absolute path of the `wikimem` beside what runs, None when there is none (`python -c`)."""
    for program in (Path(sys.argv[0]), Path(sys.executable)):
        beside = program.absolute().with_name("wikimem")
        if beside.is_file() and os.access(beside, os.X_OK):
            return beside
    return None
