"""A real endpoint on loopback that answers as OpenAI-compatible services do, and misbehaves as it is told."""

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from tests.serving import Served, serving
from wikimem.cache.answers import Vector

KEY = "sk-this-is-the-secret-key"
NOTES = "# a\n\n## swim\n\nWe swim every beach.\n\n## eat\n\nStrong coffee.\n"
MEANINGS = (("sea", "beach", "ocean", "swim"), ("coffee", "bread", "breakfast"), ("job", "robot", "work"))


def vector_of(text: str, dim: int, salt: str = "") -> list[float]:
    """Return what the endpoint gives for a text: the first numbers say what it means, the rest tells it apart."""
    words = text.lower().replace(".", " ").replace("\n", " ").split()
    meaning = [float(sum(word in known for word in words)) for known in MEANINGS]
    seed = int.from_bytes(hashlib.sha256((salt + text).encode()).digest()[:4], "big")
    noise = np.random.default_rng(seed).normal(0, 0.05, dim)
    noise[: min(3, dim)] += meaning[:dim]
    return [float(number) for number in noise.astype(np.float32)]


@dataclass
class Request:
    """What came: the texts, the headers, when, over which connection."""

    texts: list[str]
    headers: dict[str, str]
    at: float
    peer: object


Reply = tuple[int, Any, dict[str, str]]
Trouble = Callable[["Endpoint", list[str]], "Reply | bytes | None"]


@dataclass
class Endpoint:
    """The endpoint. `trouble` may answer instead (None: as usual); `paid` counts every text that got a vector."""

    dim: int = 3
    cap: int | None = None
    trouble: Trouble | None = None
    delay_s: float = 0.0
    salt: str = ""
    url: str = ""
    paid: Counter[str] = field(default_factory=Counter)
    requests: list[Request] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, texts: list[str]) -> "Reply | bytes":
        """Return what is sent for some texts."""
        if self.trouble is not None:
            found = self.trouble(self, texts)
            if found is not None:
                return found
        if self.cap is not None and len(texts) > self.cap:
            return 422, {"error": {"message": f"batch size {len(texts)} > maximum allowed batch size {self.cap}"}}, {}
        return self.good(texts)

    def good(self, texts: list[str]) -> Reply:
        """Return the right answer."""
        with self.lock:
            self.paid.update(texts)
        data = [{"index": at, "embedding": vector_of(text, self.dim, self.salt)} for at, text in enumerate(texts)]
        return 200, {"object": "list", "data": data, "usage": {"total_tokens": 7 * len(texts)}}, {}

    def vector(self, text: str) -> Vector:
        """Return the vector of a text as the program should know it."""
        return np.array(vector_of(text, self.dim, self.salt), np.float32)


@contextmanager
def running(endpoint: Endpoint) -> Iterator[Endpoint]:
    """Serve it on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: two would wait 40 ms for each other

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            texts = body["input"]
            with endpoint.lock:
                endpoint.requests.append(
                    Request(texts, dict(self.headers.items()), time.monotonic(), self.client_address)
                )
            if endpoint.delay_s:
                endpoint.release.wait(endpoint.delay_s)
            found = endpoint.answer(texts)
            if isinstance(found, bytes):
                self.wfile.write(found)
                self.close_connection = True
                return
            status, document, headers = found
            data = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that went away is what some tests are about."""

    server = Quiet(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def embedding(base: Path, endpoint: Endpoint) -> Iterator[Served]:
    """Serve a vault of two notes whose daemon and commands use the endpoint."""
    with serving(base) as served:
        served.write("wiki/a.md", NOTES)
        configure(served, endpoint)
        yield served


def configure(served: Served, endpoint: Endpoint, model: str = "m1", **more: object) -> None:
    """Have a served vault's daemon and commands use the endpoint, by the user's file."""
    lines = [f'path = "{served.vault}"', "[vaults.v.embeddings]", 'provider = "http"', f'base_url = "{endpoint.url}"']
    lines += [
        f'model = "{model}"',
        'api_key_file = "key"',
        *(f"{name} = {json.dumps(one)}" for name, one in more.items()),
    ]
    folder = served.base / "config" / "wikimem"
    folder.mkdir(exist_ok=True)
    (folder / "key").write_text(KEY + "\n")
    (folder / "config.toml").write_text('default = "v"\n[vaults.v]\n' + "\n".join(lines) + "\n")
