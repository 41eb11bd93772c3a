"""`wikimem mcp`: the vault's daemon for MCP clients, over standard input and output.

A thin bridge: each call goes to the socket. It answers `initialize` without asking the daemon, so that a daemon that
is down, or still reading, or a configuration that does not load, is told by the tools and not by a bridge that will
not start. The SDK is imported when the bridge runs: nothing else of wikimem pays for it.
"""

import asyncio
import gc

from wikimem.errors import ConfigError


def serve(vault: str | None) -> None:
    """Serve the vault that `vault`, the environment or the working directory names until standard input ends.

    Raises ConfigError when the SDK is missing or too old.
    """
    # The SDK makes some thousand classes at import; collecting in the middle of that takes a fifth of the start.
    gc.disable()
    try:
        from wikimem.mcp_server import serve_bridge  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(
            f"`wikimem mcp` needs the MCP SDK, version 2 or newer: {error}", hint="pip install --upgrade 'wikimem[mcp]'"
        ) from error
    finally:
        gc.enable()
    gc.freeze()
    asyncio.run(serve_bridge(vault))
