"""The graph's page in a real browser: it draws, searches, shows an item on a click, and asks for nothing."""

import html
import re
import shutil
import subprocess

import pytest

from wikimem.cli.graph_page import Edge, Node, Picture, as_html

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)

PROBE = """
<script>
const found = document.body.dataset;
canvas.setPointerCapture = () => {};
const point = (node) => ({ clientX: toX(node.x), clientY: toY(node.y), pointerId: 1, bubbles: true });
const click = (node) => {
  canvas.dispatchEvent(new PointerEvent("pointerdown", point(node)));
  canvas.dispatchEvent(new PointerEvent("pointerup", point(node)));
};
const sea = nodes.find((node) => node.address === "a:sea"), gone = nodes.find((node) => node.kind === "pending");
click(sea);
found.clicked = [$("itemAddress").textContent, $("content").textContent, $("links").textContent].join("|");
found.elements = $("content").childElementCount;
click(gone);
found.pending = [$("itemAddress").textContent, $("facts").textContent].join("|");
select(null);
hovered = null;
draw();
const ratio = window.devicePixelRatio, reach = Math.ceil(gone.radius * zoom) + 3, side = 2 * reach * ratio;
const pixels = pen.getImageData((toX(gone.x) - reach) * ratio, (toY(gone.y) - reach) * ratio, side, side).data;
let orange = 0;
for (let i = 0; i < pixels.length; i += 4) {
  const [red, green, blue] = pixels.subarray(i, i + 3);
  if (red > 190 && green > 90 && green < 190 && blue < 110) orange += 1;
}
found.orange = orange > 5;
$("search").value = "PLAN";
$("search").dispatchEvent(new Event("input"));
found.hits = [...$("hits").querySelectorAll("button")].map((button) => button.textContent).join("|");
$("search").value = "";
$("search").dispatchEvent(new Event("input"));
$("least").value = 2;
$("least").dispatchEvent(new Event("input"));
found.heavy = shownEdges.length;
found.requests = performance.getEntriesByType("resource").length;
</script>
"""


def node(address: str, content: str = "", kind: str = "item") -> Node:
    category, _, name = address.partition(":")
    return Node(address, name or category, category, kind, content)  # type: ignore[arg-type]


PICTURE = Picture(
    "a <b>vault</b> </script>",
    (
        node("a:sea", "<b>bold</b> </script><script>document.body.dataset.broken = 1</script> & 海"),
        node("b:plan", "the day"),
        node("b:trip", "to plan"),
        node("b:gone", kind="pending"),
        node("b", kind="file"),
        *(node(f"many:n{number}") for number in range(600)),
    ),
    (
        Edge("a:sea", "b:trip", 2.5, "parsed", "resolved"),
        Edge("b:trip", "b:plan", 1.0, "manual", "resolved"),
        Edge("a:sea", "b:gone", 1.0, "parsed", "unresolved"),
        Edge("a:sea", "b", 1.0, "parsed", "resolved"),
        *(Edge(f"many:n{number}", f"many:n{number // 3}", 1.0, "parsed", "resolved") for number in range(1, 600)),
    ),
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Open the page with a probe in it; return what the probe wrote into the body's data attributes."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    folder = tmp_path_factory.mktemp("page")
    page = folder / "graph.html"
    page.write_text(as_html(PICTURE).replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    switches = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    command = [CHROMIUM, *switches.split(), "--disable-component-update", "--window-size=1400,900"]
    command += [f"--user-data-dir={folder}/profile", "--virtual-time-budget=4000", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=50, check=False)
    body = re.search(r"<body[^>]*>", done.stdout.decode("utf-8", "replace"))
    if body is None:
        pytest.skip(f"Chromium does not start here: {done.stderr.decode('utf-8', 'replace')[-300:]}")
    return {name: html.unescape(value) for name, value in re.findall(r'data-([\w-]+)="([^"]*)"', body[0])}


def test_the_page_draws_every_node_and_edge(shown: dict[str, str]) -> None:
    assert shown["ready"] == "605 nodes, 603 edges"


def test_a_click_shows_the_item_its_text_and_its_links_with_weights(shown: dict[str, str]) -> None:
    address, content, links = shown["clicked"].split("|")
    assert address == "a:sea"
    assert content == "<b>bold</b> </script><script>document.body.dataset.broken = 1</script> & 海"
    assert links.startswith("Links to (3)trip b2.5")


def test_text_of_notes_is_never_markup(shown: dict[str, str]) -> None:
    assert shown["elements"] == "0"
    assert "broken" not in shown


def test_a_pending_target_has_its_own_colour_and_says_what_it_is(shown: dict[str, str]) -> None:
    assert shown["pending"] == "b:gone|nothing of this name exists yet"
    assert shown["orange"] == "true"


def test_search_looks_at_names_and_text_names_first(shown: dict[str, str]) -> None:
    assert shown["hits"] == "plan b|trip b"


def test_light_edges_can_be_left_out(shown: dict[str, str]) -> None:
    assert shown["heavy"] == "1"


def test_the_page_asks_for_nothing(shown: dict[str, str]) -> None:
    assert shown["requests"] == "0"
