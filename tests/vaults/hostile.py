"""Hostile vaults by name: files as bytes, and what reading them must give.

They stand in a table rather than in files: editors, git and archives would mend the very bytes that matter here.
"""

from dataclasses import dataclass, field

from wikimem.pages.layout import Layout

META = b"<!-- wikimem: owner=user:x | source=conv_1 | ts=2026-07-10T03:00:00+00:00 -->"


@dataclass(frozen=True, slots=True)
class HostileVault:
    """`items` maps each address that is served to its content; `problems` each path to the kinds reported there."""

    name: str
    why: str
    files: dict[str, bytes]
    items: dict[str, str]
    problems: dict[str, list[str]] = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)


def _wiki(data: bytes, path: str = "wiki/n.md") -> dict[str, bytes]:
    return {path: data}


VAULTS: tuple[HostileVault, ...] = (
    HostileVault(
        "crlf",
        "Windows line ends throughout, also around the metadata comment",
        _wiki(b"# n\r\n\r\n## a\r\n\r\none\r\ntwo\r\n\r\n" + META + b"\r\n\r\n## b\r\n\r\nthree\r\n"),
        {"n:a": "one\ntwo", "n:b": "three"},
    ),
    HostileVault(
        "lone-cr",
        "line ends of an old Mac",
        _wiki(b"# n\r\r## a\r\rone\rtwo\r\r## b\r\rthree\r"),
        {"n:a": "one\ntwo", "n:b": "three"},
    ),
    HostileVault(
        "mixed-line-ends",
        "every kind of line end in one file, as after a merge",
        _wiki(b"# n\n\r\n## a\r\rone\r\ntwo\n\n## b\n\r\nthree\r"),
        {"n:a": "one\ntwo", "n:b": "three"},
    ),
    HostileVault(
        "bom",
        "a byte order mark before the first heading",
        _wiki(b"\xef\xbb\xbf## a\n\none\n"),
        {"n:a": "one"},
    ),
    HostileVault(
        "bom-and-frontmatter",
        "a byte order mark before the properties",
        _wiki(b"\xef\xbb\xbf---\r\ntags: [X]\r\n---\r\n## a\r\none"),
        {"n:a": "one"},
    ),
    HostileVault("no-final-newline", "the last line has no end", _wiki(b"# n\n\n## a\n\none"), {"n:a": "one"}),
    HostileVault("heading-at-the-end", "a heading is all of the last line", _wiki(b"## a"), {"n:a": ""}),
    HostileVault(
        "empty",
        "files of no bytes, of blank lines, of a mark",
        {
            "wiki/zero.md": b"",
            "wiki/blank.md": b"\n \n\n",
            "wiki/bom.md": b"\xef\xbb\xbf",
            "diary/2026-07-21.md": b"",
        },
        {},
    ),
    HostileVault(
        "nested-fences",
        "a longer fence holds a shorter one, tildes hold backticks",
        _wiki(b"## a\n\n````md\n## no\n```\n## no\n```\n````\n\n~~~\n```\n## no\n~~~\n\n## b\n\nx\n"),
        {"n:a": "````md\n## no\n```\n## no\n```\n````\n\n~~~\n```\n## no\n~~~", "n:b": "x"},
    ),
    HostileVault(
        "unclosed-fence",
        "all that follows is code",
        _wiki(b"## a\n\none\n\n```py\ncode\n\n## no\n"),
        {"n:a": "one\n\n```py\ncode\n\n## no"},
        {"wiki/n.md": ["unclosed-fence"]},
    ),
    HostileVault(
        "fence-in-a-list",
        "a fence in a list item ends with the item",
        _wiki(b"## a\n\n- x\n  ```\n  ## no\n\n## b\n\ny\n"),
        {"n:a": "- x\n  ```\n  ## no", "n:b": "y"},
    ),
    HostileVault(
        "not-quite-fences",
        "backticks in the info string, too few marks, four blanks",
        _wiki(b"## a\n\n```x`y\n\n``\n\n    ```\n\n## b\n\ny\n"),
        {"n:a": "```x`y\n\n``\n\n    ```", "n:b": "y"},
    ),
    HostileVault(
        "html-comment",
        "a comment that starts a line hides headings, one within a line does not",
        _wiki(b"## a\n\n<!--\n## no\n\n## no\n-->\n\nx <!-- y\n## b\n\n-->\n"),
        {"n:a": "<!--\n## no\n\n## no\n-->\n\nx <!-- y", "n:b": "-->"},
    ),
    HostileVault(
        "unclosed-html-comment",
        "it hides the rest of the file",
        _wiki(b"## a\n\none\n\n<!-- open\n\n## no\n"),
        {"n:a": "one\n\n<!-- open\n\n## no"},
        {"wiki/n.md": ["unclosed-comment"]},
    ),
    HostileVault(
        "html-blocks",
        "a block ends at a blank line, a raw one at its closing tag",
        _wiki(b"## a\n\n<div>\n## no\n\n## b\n\n<pre>\n\n## no\n</pre>\n## c\n\nx <span>\n## d\n"),
        {"n:a": "<div>\n## no", "n:b": "<pre>\n\n## no\n</pre>", "n:c": "x <span>", "n:d": ""},
    ),
    HostileVault(
        "unclosed-html",
        "raw HTML without its closing tag",
        _wiki(b"## a\n\none\n\n<script>\n\n## no\n"),
        {"n:a": "one\n\n<script>\n\n## no"},
        {"wiki/n.md": ["unclosed-html"]},
    ),
    HostileVault(
        "obsidian-comments",
        "a pair hides headings, a mark in code or alone does not",
        _wiki(b"## a\n\n%%\n## no\n%%\n\n## b\n\n`%%` here\n\n## c\n\n`%%` there\n\n## d\n\nhalf %% a\n\n## e\n\nx\n"),
        {"n:a": "%%\n## no\n%%", "n:b": "`%%` here", "n:c": "`%%` there", "n:d": "half %% a", "n:e": "x"},
    ),
    HostileVault(
        "formulas",
        "`$$` in pairs",
        _wiki(b"## a\n\n$$\n## no\n$$\n\n## b\n\ncosts $$\n\n## c\n\n`$$`\n"),
        {"n:a": "$$\n## no\n$$", "n:b": "costs $$", "n:c": "`$$`"},
    ),
    HostileVault(
        "headings-that-are-none",
        "no blank after the marks, wide blanks, four blanks, quotes, lists, full width",
        _wiki(
            "## a\n\n##x\n##\u00a0x\n##\u3000x\n＃＃ x\n\\## x\n\n"
            "    ## x\n\n> ## x\n\n- ## x\n- y\n\n  ## x\n".encode()
        ),
        {"n:a": "##x\n##\u00a0x\n##\u3000x\n＃＃ x\n\\## x\n\n    ## x\n\n> ## x\n\n- ## x\n- y\n\n  ## x"},
    ),
    HostileVault(
        "headings-that-are",
        "up to three blanks, a tab, closing marks, text directly above, a list directly above",
        _wiki(b"text\n## a\n   ## b\n##\tc ##\n## d #\n- x\n ## e # f\n## g\\#\n"),
        {"n:a": "", "n:b": "", "n:c": "", "n:d": "- x", "n:e # f": "", "n:g\\#": ""},
    ),
    HostileVault(
        "setext",
        "an underlined line is no item and ends none",
        _wiki(b"## a\n\nTitle\n=====\n\nlower\n---\n\n## b\n\nx\n"),
        {"n:a": "Title\n=====\n\nlower\n---", "n:b": "x"},
    ),
    HostileVault(
        "level-one-ends-an-item",
        "what follows a `#` belongs to no item",
        _wiki(b"# n\n\nabove\n\n## a\n\none\n\n# part\n\nnobody's\n\n## b\n\ntwo\n\n### deeper\n\nthree\n"),
        {"n:a": "one", "n:b": "two\n\n### deeper\n\nthree"},
    ),
    HostileVault(
        "empty-heading",
        "a heading half typed has no name",
        _wiki(b"## a\n\none\n\n## \n\nlost\n\n## ##\n\n## b\n"),
        {"n:a": "one", "n:b": ""},
        {"wiki/n.md": ["empty-name", "empty-name"]},
    ),
    HostileVault(
        "duplicate-names",
        "the last of a name is served, also where they differ in white space or normalisation",
        _wiki(
            "## a\n\n1\n\n## b  c\n\n2\n\n## a\n\n3\n\n## b c\n\n4\n\n"
            "## Cafe\u0301\n\n5\n\n## Caf\u00e9\n\n6\n".encode()
        ),
        {"n:a": "3", "n:b c": "4", "n:Caf\u00e9": "6"},
        {"wiki/n.md": ["duplicate-name", "duplicate-name", "duplicate-name"]},
    ),
    HostileVault(
        "latin-1",
        "bytes that are not UTF-8, in text and in headings that differ only there",
        _wiki(b"## a\n\ncaf\xe9\n\n## caf\xe9\n\n1\n\n## caf\xe8\n\n2\n"),
        {"n:a": "caf\ufffd", "n:caf%E9": "1", "n:caf%E8": "2"},
        {"wiki/n.md": ["not-utf8"]},
    ),
    HostileVault(
        "utf-16",
        "a file in another encoding has no headings that could be read",
        _wiki("## a\n\none\n".encode("utf-16")),
        {},
        {"wiki/n.md": ["not-utf8", "nul-bytes"]},
    ),
    HostileVault(
        "nul",
        "NUL bytes in the text",
        _wiki(b"## a\n\none\x00two\n"),
        {"n:a": "one\ufffdtwo"},
        {"wiki/n.md": ["nul-bytes"]},
    ),
    HostileVault(
        "binary",
        "an image with the name of a note",
        _wiki(bytes(range(256)) * 4),
        {},
        {"wiki/n.md": ["nul-bytes", "not-utf8"]},
    ),
    HostileVault(
        "line-separators",
        "U+2028, U+0085, form feed and vertical tab end no line",
        _wiki("## a\n\none\u2028## no\u0085## no\x0c## no\x0b## no\n".encode()),
        {"n:a": "one\u2028## no\u0085## no\x0c## no\x0b## no"},
    ),
    HostileVault(
        "cjk-and-emoji",
        "names and text beyond the Latin script, ideographic blanks",
        _wiki("## 手冲咖啡\n\n只喝手冲咖啡。\n\n## 海 边\n\n🏖️👩‍👩‍👧\n".encode()),
        {"n:手冲咖啡": "只喝手冲咖啡。", "n:海 边": "🏖️👩‍👩‍👧"},
    ),
    HostileVault(
        "invalid-yaml",
        "properties that cannot be read cost no item",
        {
            "wiki/bracket.md": b"---\ntags: [x\n---\n## a\n\none\n",
            "wiki/colon.md": b"---\ntitle: Fwd: x: y\n---\n## a\n\none\n",
            "wiki/template.md": b"---\ncreated: {{date}}\n---\n## a\n\none\n",
            "wiki/tab.md": b"---\n\ttags: x\n---\n## a\n\none\n",
            "wiki/list.md": b"---\n- x\n---\n## a\n\none\n",
            "wiki/deep.md": b"---\na: " + b"[" * 9000 + b"\n---\n## a\n\none\n",
        },
        {f"{name}:a": "one" for name in ("bracket", "colon", "template", "tab", "list", "deep")},
        {f"wiki/{name}.md": ["invalid-yaml"] for name in ("bracket", "colon", "template", "tab", "list", "deep")},
    ),
    HostileVault(
        "unclosed-frontmatter",
        "a first line `---` that nothing answers opens no properties",
        _wiki(b"---\ntags: x\n\n## a\n\none\n"),
        {"n:a": "one"},
        {"wiki/n.md": ["unclosed-frontmatter"]},
    ),
    HostileVault(
        "frontmatter-too-low",
        "a blank line before `---` makes it text",
        _wiki(b"\n---\n## a\n---\n\none\n"),
        {"n:a": "---\n\none"},
    ),
    HostileVault(
        "code-in-frontmatter",
        "nothing in properties opens a fence or a comment",
        _wiki(b"---\nx: |\n  ```\n  %%\n  <!--\n---\n\n## a\n\none %%\n\n## b\n"),
        {"n:a": "one %%", "n:b": ""},
    ),
    HostileVault(
        "metadata",
        "the comment counts only as the last non-blank line, and only well-formed",
        _wiki(
            b"## above\n\n" + META + b"\n\ntext\n\n## malformed\n\n<!-- wikimem: owner -->\n\n## twice\n\n"
            b"<!-- wikimem: owner=a -->\n<!-- wikimem: owner=b -->\n\n## bad-time\n\nx\n\n<!-- wikimem: ts=soon -->\n"
        ),
        {
            "n:above": META.decode() + "\n\ntext",
            "n:malformed": "<!-- wikimem: owner -->",
            "n:twice": "<!-- wikimem: owner=a -->",
            "n:bad-time": "x",
        },
        {"wiki/n.md": ["malformed-metadata", "invalid-timestamp"]},
    ),
    HostileVault(
        "hand-made-names",
        "headings that could not be written here, files that are no slugs",
        {
            "wiki/My Notes/Über: x.md": b"## a:b | c [[d]] # e\n\none\n",
            "wiki/100%25.md": b"## a\n\none\n",
            "wiki/a\nb.md": b"## a\n\none\n",
            "wiki/caf\udce9.md": b"## a\n\none\n",
            "wiki/2026-07-21.md": b"## 14:30\n\none\n",
        },
        {
            "My Notes/Über%3A x:a:b | c [[d]] # e": "one",
            "100%2525:a": "one",
            "a%0Ab:a": "one",
            "caf%E9:a": "one",
            "%32026-07-21:14:30": "one",
        },
    ),
    HostileVault(
        "left-alone",
        "files of editors, sync tools, Obsidian and git, and files that are no notes",
        dict.fromkeys(
            (
                "wiki/.hidden.md",
                "wiki/.n.md.swp",
                "wiki/.n.md.X2c.tmp",
                "wiki/n.md~",
                "wiki/#n.md#",
                "wiki/~$n.md",
                "wiki/~syncthing~n.md.tmp",
                "wiki/4913",
                "wiki/.trash/n.md",
                "wiki/.obsidian/n.md",
                "wiki/templates/n.md",
                "wiki/n.markdown",
                "wiki/n.MD",
                "wiki/n.txt",
                "conflict-files-obsidian-git.md",
                "templates/day.md",
                "other/n.md",
                "diary/notes.md",
                "diary/2026-13-01.md",
                "diary/2026-7-1.md",
                "n.md",
            ),
            b"## a\n\none\n",
        ),
        {},
    ),
    HostileVault(
        "conflict-copies",
        "what sync tools leave is reported and not served",
        dict.fromkeys(
            (
                "wiki/n.sync-conflict-20260101-120000-ABCDEFG.md",
                "wiki/n (conflicted copy 2026-01-01 120000).md",
                "wiki/n (Ann's conflicted copy 2026-01-01).md",
                "wiki/n (Conflicted copy laptop 202601011200).md",
                "wiki/n (Case Conflict).md",
                "diary/2026-07-21.sync-conflict-20260101-120000-ABCDEFG.md",
            ),
            b"## a\n\none\n",
        ),
        {},
        {
            path: ["conflict-copy"]
            for path in (
                "wiki/n.sync-conflict-20260101-120000-ABCDEFG.md",
                "wiki/n (conflicted copy 2026-01-01 120000).md",
                "wiki/n (Ann's conflicted copy 2026-01-01).md",
                "wiki/n (Conflicted copy laptop 202601011200).md",
                "wiki/n (Case Conflict).md",
                "diary/2026-07-21.sync-conflict-20260101-120000-ABCDEFG.md",
            )
        },
    ),
    HostileVault(
        "git-conflict",
        "an unresolved merge is reported; one shown in a fence is an example",
        {
            "wiki/n.md": b"## a\n\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main\n",
            "wiki/example.md": b"## a\n\n```\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main\n```\n",
        },
        {
            "n:a": "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main",
            "example:a": "```\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main\n```",
        },
        {"wiki/n.md": ["git-markers"]},
    ),
    HostileVault(
        "long-runs",
        "what costs a careless pattern the square of its length",
        {
            "wiki/blanks.md": b"## x" + b" " * 200_000 + b"y\n",
            "wiki/marks.md": b"## x" + b" #" * 100_000 + b" y\n",
            "wiki/ticks.md": b"## x\n\n" + b"` `` " * 40_000 + b".\n",
            "wiki/mixed.md": b"## x\n\n" + b"[[a:b]] `c` %%d%% $$e$$ <!-- f --> #g ^h\n" * 5_000,
            "wiki/tags.md": b"## x\n\n<a" + b" b=c" * 50_000 + b"\n",
            "wiki/brackets.md": b"## x\n\n" + b"[[" * 50_000 + b".\n",
        },
        {
            "blanks:x y": "",
            "marks:x" + " #" * 100_000 + " y": "",
            "ticks:x": ("` `` " * 40_000 + "."),
            "mixed:x": ("[[a:b]] `c` %%d%% $$e$$ <!-- f --> #g ^h\n" * 5_000).strip(),
            "tags:x": "<a" + " b=c" * 50_000,
            "brackets:x": "[[" * 50_000 + ".",
        },
    ),
    HostileVault(
        "a-day-of-a-person",
        "free sections, text after the time, times out of order, two at one minute",
        {
            "diary/2026-07-21.md": b"# Tuesday\n\nmood: fine\n\n## Tasks\n\n- [ ] x\n\n"
            b"## 14:30 Lunch with Ann\n\nnice\n\n"
            b"## 09:00\n\nearly\n\n## 14:30\n\nagain\n\n## 25:00\n\nno\n\n## 9:05\n\nno\n\n## 10:15:30\n\nno\n"
        },
        {
            "2026-07-21:14:30": "Lunch with Ann\n\nnice",
            "2026-07-21:09:00": "early",
            "2026-07-21:14:30#2": "again",
        },
    ),
    HostileVault(
        "someone's-obsidian-vault",
        "notes anywhere, days in their own format, prose without any heading",
        {
            "Ideas/Garden.md": b"---\naliases: [Yard]\ntags: project\n---\n\n#green\n\nPlant *tomatoes*.\n",
            "Recipes.md": b"# Good food\n\nIntro.\n\n## Soup\n\nBoil.\n",
            "Empty.md": b"",
            "Journal/2026/07-July/21st.md": b"## 14:30\n\nx\n",
            "Journal/Index.md": b"All days.\n",
            "Templates/note.md": b"## {{title}}\n",
        },
        {
            "Ideas/Garden:Garden": "#green\n\nPlant *tomatoes*.",
            "Recipes:Good food": "Intro.",
            "Recipes:Soup": "Boil.",
            "2026-07-21:14:30": "x",
            "Journal/Index:Index": "All days.",
        },
        layout=Layout(wiki_dir=".", diary_dir="Journal", diary_format="YYYY/MM-MMMM/Do", preamble_items=True),
    ),
    HostileVault(
        "ignored-by-a-person",
        "globs of the vault's settings",
        {
            "wiki/private/n.md": b"## a\n",
            "wiki/draft-1.md": b"## a\n",
            "wiki/deep/er/old.md": b"## a\n",
            "wiki/n.md": b"## a\n",
        },
        {"n:a": ""},
        layout=Layout(ignore=("wiki/private/", "draft-*", "**/old.md")),
    ),
)
