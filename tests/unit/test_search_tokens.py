"""What a text is found by: every script, whole words and their parts."""

import pytest

from tests.searching import found
from wikimem.search.tokens import estimate_tokens, matched, query_terms, says_nothing
from wikimem.search.words import Kind, expand


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("今日は成語しりとりをした", "しりとり"),
        ("今天玩成语接龙游戏", "成语接龙"),
        ("喜欢海边", "海"),
        ("오늘 끝말잇기", "끝말잇기"),
        ("오늘 학교에서 놀았다", "학교"),
        ("Привет, мир", "привет"),
        ("новые книги на полках", "книга"),
        ("le café du port", "cafe"),
        ("the cafe on the corner", "café"),
        ("die Straße am Fluss", "strasse"),
        ("این کتاب خوب است", "كتاب"),
        ("هذا كتاب جديد", "کتاب"),
        ("زندگی در شهر", "زندگي"),
        ("łódka na jeziorze", "lodka"),
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ("ฉันมาที่นี่", "มา"),
        ("ຂ້ອຍຢາກກິນເຂົ້າ", "ເຂົ້າ"),
        ("ខ្ញុំស្រលាញ់សមុទ្រ", "សមុទ្រ"),
        ("ကျွန်တော်ပင်လယ်ကိုချစ်တယ်", "ပင်လယ်"),
        ("मुझे समुद्र पसंद है", "समुद्र"),
        ("أحب البحر كثيرا", "البحر"),
        ("אני אוהב את הים", "הים"),
        ("Αγαπώ τη θάλασσα", "θάλασσα"),
        ("ՍԻՐՈՒՄ ԵՄ ԾՈՎԸ", "ծովը"),
        ("მიყვარს ზღვა", "ზღვა"),
        ("tôi thích biển", "biển"),
        ("running along the beach", "runs"),
        ("ｗｉｄｅ letters", "wide"),
        ("wide letters", "ｗｉｄｅ"),
        ("Cafe\u0301 in NFD", "café"),
        ("half ｶﾀｶﾅ", "カタカナ"),
        ("Überraschungen am Morgen", "Überraschung"),
        ("year 1984", "1984"),
        ("soft\u00adhyphen", "softhyphen"),
    ],
)
def test_every_script_is_found(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("call get_user_name first", "get_user_name"),
        ("call get_user_name first", "user"),
        ("call getUserName first", "getUserName"),
        ("call getUserName first", "user name"),
        ("call getUserName first", "get_user_name"),
        ("an XMLHttpRequest object", "http request"),
        ("written in C++ mostly", "C++"),
        ("written in C++.", "c++"),
        ("ported to C#", "C#"),
        ("run it with --dry-run", "--dry-run"),
        ("run it with --dry-run", "dry"),
        ("since v1.2.3 only", "v1.2.3"),
        ("since 1.2.3 only", "1.2.3"),
        ("see src/app/main.py there", "src/app/main.py"),
        ("see src/app/main.py there", "main.py"),
        ("see src/app/main.py there", "app"),
        ("in /etc/passwd", "/etc/passwd"),
        ("in /etc/passwd", "etc/passwd"),
        (r"C:\Users\me\notes.txt", "notes.txt"),
        ("mail me@example.com", "me@example.com"),
        ("mail me@example.com", "example.com"),
        ("the std::vector type", "std::vector"),
        ("the std::vector type", "vector"),
        ("tagged #project/alpha", "project/alpha"),
        ("linked [[daily_life:beach-trip]]", "beach-trip"),
        ("set $HOME", "$HOME"),
        ("an utf8 file", "utf"),
        ("_emphasised_ word", "emphasised"),
    ],
)
def test_identifiers_are_found_whole_and_by_part(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("party 🎉 tonight", "🎉"),
        ("she codes 👩🏽‍💻 daily", "👩🏽‍💻"),
        ("she codes 👩🏽‍💻 daily", "💻"),
        ("from 🇯🇵 with love", "🇯🇵"),
        ("love ❤️ it", "❤"),
        ("done ✓", "✓"),
        ("a → b", "→"),
        ("costs 5 €", "€"),
    ],
)
def test_emoji_and_symbols_are_found_whole_and_by_part(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize("word", ["समुद्र", "cafe\u0301", "שָׁלוֹם", "ನಮಸ್ಕಾರ", "Việt"])
def test_a_word_keeps_its_marks(word: str) -> None:
    assert len([term for term in query_terms(word) if term.kind is Kind.WORD]) == 1


def test_a_path_is_found_whole_by_each_glued_component() -> None:
    wholes = {term.text for term in expand("src/app-v2/main.py") if term.kind is Kind.WHOLE}
    assert wholes == {"src/app-v2/main.py", "app-v2", "main.py"}


def test_half_a_flag_finds_nothing() -> None:
    assert not found("from 🇯🇵", "🇵🇱")


def test_the_whole_identifier_ranks_above_its_parts() -> None:
    glued = {term.text: term.weight for term in query_terms("main.py")}
    assert glued["main.py"] == glued["main"] == 1.0
    assert {term.text: term.weight for term in query_terms("getUser")}["user"] == 0.5


def test_question_words_are_dropped_unless_nothing_is_left() -> None:
    assert [term.word for term in query_terms("what is the sea") if term.kind is Kind.WORD] == ["sea"]
    assert [term.word for term in query_terms("to be or not to be") if term.kind is Kind.WORD] == [
        "to",
        "be",
        "or",
        "not",
    ]


def test_a_repeated_word_counts_more_but_not_without_limit() -> None:
    def weight(query: str) -> float:
        return next(term.weight for term in query_terms(query) if term.kind is Kind.WORD)

    assert weight("sea sea") == 2 * weight("sea")
    assert weight("sea " * 1_000) <= 8


@pytest.mark.parametrize("query", ["", "   ", "!!!", "…？！", "\x00\x01", "\ud800\udc00\ud800", "﷽" * 3, "a" * 100_000])
def test_no_query_makes_the_tokenizer_raise(query: str) -> None:
    query_terms(query)


def test_a_page_of_chinese_as_a_query_keeps_its_terms_distinct() -> None:
    terms = query_terms("海边散步" * 5_000)
    assert len({term.text for term in terms}) == len(terms) == 8


def test_only_the_written_words_count_in_the_length() -> None:
    kinds = [term.kind for term in expand("Crêpes-au-sucre")]
    assert kinds.count(Kind.WORD) == 3
    assert {Kind.FOLDED, Kind.PREFIX, Kind.WHOLE} <= set(kinds)


@pytest.mark.parametrize("surface", ["...", "--", "_", "____", "#", "/", "a", "1", "__init__", "-" * 50, "ß", "İ", "ﬀ"])
def test_any_surface_expands(surface: str) -> None:
    assert all(term.text for term in expand(surface))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 0),
        ("one two  three\nfour", 4),
        ("喜欢海边", 4),
        ("喜欢海边，提到过。", 7),
        ("用 Python 写的", 4),
        ("カタカナ", 4),
        ("안녕 세계", 2),
        ("ฉันชอบกิน", 3),
        ("don't stop-it", 2),
    ],
)
def test_a_token_is_a_word_or_a_cjk_character(text: str, size: int) -> None:
    assert estimate_tokens(text) == size


def test_matched_terms_are_words_as_they_were_typed() -> None:
    terms = query_terms("Running 成语接龙 cafeteria")
    hit = [term.text in {"run", "成", "语", "成语", "龙", "\x01cafe"} for term in terms]
    assert matched(terms, hit) == ("running", "cafe…", "成语", "龙")


@pytest.mark.parametrize("text", ["", "what did I do", "what happened?", "做了什么", "は何", "的"])
def test_a_question_without_a_subject_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["dinner", "工作", "🎉", "ข้าว", "what did Anna do"])
def test_a_question_with_a_subject_says_something(text: str) -> None:
    assert not says_nothing(text)
