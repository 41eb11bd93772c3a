"""`wikimem status`: how the daemon and its index are. Exit status 0 healthy, 1 degraded, 3 not running."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from wikimem.api.protocol import StatusAnswer, VectorsBody
from wikimem.cli.connection import connect_daemon, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json, print_line, print_table, print_text
from wikimem.config import Settings
from wikimem.errors import NotRunning, TryAgain

if TYPE_CHECKING:
    from wikimem.api.client import Client

_PAUSE_S = 0.05
_PROBLEMS_SHOWN = 10
_EXIT = {"ok": 0, "starting": 0, "degraded": 1}


@click.command()
@click.option("--verify", is_flag=True, help="Compare the disk with the index now.")
@click.option("--wait", type=float, metavar="SECONDS", help="Wait so long for a daemon that has read everything.")
@vault_option
@json_option
@click.pass_context
def status(ctx: click.Context, *, verify: bool, wait: float | None, vault: str | None, as_json: bool) -> None:
    """Say how the daemon and its index are.

    The exit status is 0 when all is well (also while it is still reading at start), 1 when something is degraded,
    3 when no daemon runs.
    """
    settings = settings_for(vault)
    try:
        answer = (
            _waited(settings, wait, verify=verify)
            if wait
            else connect_daemon(settings, start=False).status(verify=verify)
        )
    except NotRunning:
        if as_json:
            print_json({"state": "not running", "vault": settings.name, "path": str(settings.path)})
        raise
    if as_json:
        print_json(answer)
    else:
        _tell(answer, settings)
    ctx.exit(_EXIT[answer["state"]])


def _waited(settings: Settings, seconds: float, *, verify: bool) -> StatusAnswer:
    """Return the status once the daemon has read everything, or as it is when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        try:
            client: Client = connect_daemon(settings, start=False)
            answer = client.status(verify=verify)
            if not answer["partial"] or left <= 0:
                return answer
        except (NotRunning, TryAgain):
            if left <= 0:
                raise
        time.sleep(min(_PAUSE_S, max(left, 0.0)))


def _tell(answer: StatusAnswer, settings: Settings) -> None:
    print_table(_rows(answer, settings))
    for part in answer["degraded"]:
        print_line(f"degraded: {part['detail']}")
        if part["hint"]:
            print_text(part["hint"], indent="  ")
    problems = answer["problems"]
    if not problems:
        return
    print_text(f"{answer['problems_total']} problem(s) in notes:")
    for problem in problems[:_PROBLEMS_SHOWN]:
        line = f":{problem['line']}" if problem["line"] else ""
        print_line(f"{problem['path']}{line}: {problem['message']}", indent="  ")
    if answer["problems_total"] > _PROBLEMS_SHOWN:
        print_text(f"... and {answer['problems_total'] - _PROBLEMS_SHOWN} more: `wikimem doctor`", indent="  ")


def _rows(answer: StatusAnswer, settings: Settings) -> Iterator[tuple[str, str]]:
    reading = ", still reading" if answer["partial"] else ""
    yield "state", answer["state"] + reading
    yield "vault", f"{answer['vault']}  {answer['path']}"
    yield "socket", str(settings.socket_path)
    yield "memory", f"{answer['items']} items in {answer['files']} files"
    watch = answer["watch"]
    compared = f", compared {watch['compared_at']} ({watch['compared_by']})" if watch["compared_at"] else ""
    yield "watching", watch["mode"] + compared
    # Not told by a daemon that is still starting, nor by one of an earlier version.
    if watch.get("fallback"):
        yield "", f"because {watch['fallback']}"
        yield "", watch["hint"]
    yield "writing", answer["write_mode"]
    yield "vectors", _vectors(answer["vectors"])
    yield "links", f"{answer['links']['unresolved']} unresolved, {answer['links']['ambiguous']} ambiguous"
    asked = answer["retrieves"]
    yield "retrieves", f"{asked['count']}, {asked['embedding_used']} with vectors"
    for name, task in (("rebuild", answer["rebuild"]), ("embed", answer["embed"])):
        # How far an embedding is stands under `vectors`.
        if task["state"] == "failed" or (task["state"] == "running" and name != "embed"):
            yield name, f"{task['state']} {task['detail']}".rstrip()
    if answer["restart_needed"]:
        yield "restart", "needed: another version is installed than runs"
    megabytes = answer["rss_bytes"] / 1e6
    yield "process", f"{answer['pid']}, up {_duration(answer['uptime_s'])}, {megabytes:.0f} MB, {answer['version']}"


def _vectors(body: VectorsBody) -> str:
    if not body["model"]:
        return body["state"]
    parts = [f"{body['state']}: {body['count']:,} of {body['model']}"]
    if body["pending"]:
        parts[0] += f", {body['pending']:,} pending"
        if body.get("rate"):
            parts.append(f"{body.get('rate', 0):.3g}/s")
        eta = body.get("eta_s")
        if eta is not None and body["state"] == "pending":
            parts.append(f"{_duration(eta)} left")
    if body.get("sent"):
        tokens = f", {body.get('tokens', 0):,} tokens" if body.get("tokens") else ""
        parts.append(f"{body.get('sent', 0):,} sent{tokens} since the start")
    if body.get("uncommitted"):
        parts.append(f"{body.get('uncommitted', 0):,} not written yet")
    since, left = body.get("failing_since"), body.get("retry_in_s")
    if since is not None and left is not None:
        parts.append(f"failing since {since}, tried again in {_duration(left)}")
    return "; ".join(parts)


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
