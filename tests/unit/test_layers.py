"""Who may import whom: one table, read from the top of the program to its ground."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Layer(NamedTuple):
    """What a layer may import: other layers, packages from outside, and whether it must be pure."""

    layers: str
    packages: str = ""
    pure: bool = False


TABLE = {
    "errors": Layer(""),
    "threads": Layer(""),
    "text": Layer("errors", "yaml", pure=True),
    "pages": Layer("errors text", pure=True),
    "config": Layer("errors text pages"),
    "search": Layer("errors text pages", "numpy bm25s Stemmer"),
    "store": Layer("errors text pages config"),
    "cache": Layer("errors text pages config", "numpy httpx"),
    "service": Layer("errors config"),
    "api": Layer("errors text pages config search store cache service"),
    "host": Layer("errors threads text pages config search store cache api"),
    "doctor": Layer("errors text pages config search store cache api service"),
    "hook": Layer("errors text pages config host"),
    "mcp": Layer("errors text pages config api host", "mcp"),
    "cli": Layer("errors text pages config search store cache api host hook doctor mcp service", "click"),
    "daemon": Layer(
        "errors threads text pages config search store cache api service",
        "starlette uvicorn h11 anyio watchfiles inotify_simple numpy httpx",
    ),
}

# Modules at the top of the package that are part of a layer under another name.
PART_OF = {"places": "config", "shipped": "config", "user_manager": "service"}

# What a pure layer must not touch: a disk, a clock, chance, a process, a network.
IMPURE_MODULES = {
    "asyncio", "fcntl", "glob", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil",
    "signal", "socket", "sqlite3", "subprocess", "tempfile", "threading", "time", "uuid",
}  # fmt: skip
IMPURE_CALLS = {"open", "input", "print", "now", "utcnow", "today"}


FRONT_PAGE = "import the module, not the package's front page"


class Import(NamedTuple):
    file: Path
    line: int
    module: str


def modules() -> list[Path]:
    return sorted([*(ROOT / "wikimem").rglob("*.py"), *(ROOT / "daemon/wikimem_daemon").rglob("*.py")])


def layer_of(dotted: str) -> str | None:
    """Return the layer that a module belongs to, None for one that is none of ours or the package's front page."""
    head, _, rest = dotted.partition(".")
    if head == "wikimem_daemon":
        return "daemon"
    if head != "wikimem" or not rest:
        return None
    name = rest.split(".")[0]
    if name in TABLE:
        return name
    return PART_OF.get(name) or next((layer for layer in TABLE if name.startswith(f"{layer}_")), None)


def dotted_name(file: Path) -> str:
    base = ROOT if file.is_relative_to(ROOT / "wikimem") else ROOT / "daemon"
    return ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def typing_only(tree: ast.Module) -> set[int]:
    """Return the lines below `if TYPE_CHECKING:`, which no process runs."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for line in range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
    }


def imports(file: Path, tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(file, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import; imports here are absolute"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            for alias in whole if node.module in {"wikimem", "wikimem_daemon"} else [str(node.module)]:
                yield Import(file, node.lineno, alias)


def broken_rule(layer: str, dotted: str) -> str | None:
    """Return the rule that importing `dotted` into `layer` breaks, None when it may."""
    allowed = TABLE[layer]
    target = layer_of(dotted)
    if target is not None:
        if target in {layer, *allowed.layers.split()}:
            return None
        return f"`{layer}` may import {allowed.layers or 'no other layer'}; `{target}` is not among them"
    top = dotted.split(".", maxsplit=1)[0]
    if top == "wikimem":
        # `import wikimem` is for `wikimem.__version__`; what else is used of it is looked at below.
        return None if dotted in {"wikimem", "wikimem.__version__"} else FRONT_PAGE
    if top in sys.stdlib_module_names:
        if allowed.pure and top in IMPURE_MODULES:
            return f"`{layer}` is pure: no I/O, clock or randomness, so no `{top}`"
        return None
    if top in allowed.packages.split():
        return None
    return f"`{layer}` may use these packages: {allowed.packages or 'none'}; `{top}` is not among them"


def test_every_module_belongs_to_a_layer() -> None:
    homeless = [
        str(file) for file in modules() if layer_of(dotted_name(file)) is None and file.parent.name != "wikimem"
    ]
    top = [
        f.stem
        for f in (ROOT / "wikimem").glob("*.py")
        if f.stem != "__init__" and layer_of(f"wikimem.{f.stem}") is None
    ]
    assert homeless + top == [], "name its layer in TABLE or PART_OF"


def test_no_import_goes_against_the_layers() -> None:
    complaints = []
    for file in modules():
        layer = layer_of(dotted_name(file))
        if layer is None:
            continue
        tree = ast.parse(file.read_bytes())
        unseen = typing_only(tree)
        for found in imports(file, tree):
            rule = broken_rule(layer, found.module)
            # A type may be named across layers; nothing is imported by it, and mypy follows it.
            if rule and found.line not in unseen:
                complaints.append(f"{file.relative_to(ROOT)}:{found.line}: imports {found.module}: {rule}")
        complaints += [
            f"{file.relative_to(ROOT)}:{node.lineno}: uses wikimem.{node.attr}: {FRONT_PAGE}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "wikimem"
            if not node.attr.startswith("__") and layer_of(f"wikimem.{node.attr}") is None
        ]
    assert complaints == []


def test_text_and_pages_touch_no_disk_clock_or_chance() -> None:
    complaints = []
    for file in modules():
        layer = layer_of(dotted_name(file))
        if layer is None or not TABLE[layer].pure:
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).split(".")[-1]
                if name in IMPURE_CALLS:
                    complaints.append(f"{file.relative_to(ROOT)}:{node.lineno}: calls {name}: `{layer}` is pure")
    assert complaints == []


def test_only_one_place_turns_settings_into_a_store() -> None:
    """A place that opened its own forgot `derived` or the history's caps: the journal went where it must not be."""
    opened = {
        dotted_name(file)
        for file in modules()
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "MemoryStore"
    }
    assert opened == {"wikimem.store.opening"}


@pytest.mark.parametrize(
    ("layer", "dotted", "word"),
    [
        ("text", "wikimem.store.files", "`text` may import errors"),
        ("search", "wikimem.store.vault", "`store` is not among them"),
        ("store", "wikimem.search.index", "`search` is not among them"),
        ("cli", "wikimem_daemon.server", "`daemon` is not among them"),
        ("pages", "os", "is pure"),
        ("text", "time", "is pure"),
        ("store", "numpy", "may use these packages"),
        ("api", "httpx", "may use these packages: none"),
    ],
)
def test_the_rule_that_a_line_breaks_is_named(layer: str, dotted: str, word: str) -> None:
    assert word in (broken_rule(layer, dotted) or "")


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
    assert [str(file) for file in modules() if file.stem in vague] == []


def test_no_module_is_longer_than_five_hundred_lines() -> None:
    long = {str(f.relative_to(ROOT)): n for f in modules() if (n := len(f.read_text("utf-8").split("\n"))) > 501}
    assert long == {}


HEAVY = {"numpy", "bm25s", "Stemmer", "watchfiles", "httpx", "mcp", "starlette", "uvicorn", "asyncio", "yaml"}


@pytest.mark.parametrize(
    "code",
    [
        "import wikimem",
        "from wikimem.cli import run; run(['--help'])",
        "from wikimem import Client",
        "from wikimem.cli import run; run(['socket', '--vault', '.'])",
    ],
)
def test_help_and_the_client_stay_light(code: str) -> None:
    script = f"import sys\n{code}\nprint(sorted(set(sys.modules) & {HEAVY!r}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr.strip().split("\n")[-1] == "[]"


def test_importing_wikimem_imports_no_module_of_its_own() -> None:
    script = "import sys, wikimem\nprint([m for m in sys.modules if m.startswith('wikimem.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
