"""README.zh.md keeps step with README.md: the same sections, code, tables and words of the product."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.conftest import ROOT

ENGLISH, CHINESE = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh.md"))
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def sections(text: str) -> list[str]:
    """The text from each heading to the next, code blocks left out: a # in them is no heading."""
    return re.split(r"^(?=#)", CODE.sub("", text), flags=re.MULTILINE)[1:]


def test_both_have_the_same_headings() -> None:
    levels = [[s.partition(" ")[0] for s in sections(text)] for text in (ENGLISH, CHINESE)]
    assert levels[0] == levels[1]


def test_both_have_the_same_code_with_the_same_marks() -> None:
    marked = re.compile(r"(?:^<!-- \w+ -->\n)?^```.*?^```$", re.DOTALL | re.MULTILINE)
    assert marked.findall(ENGLISH) == marked.findall(CHINESE)


@pytest.mark.parametrize(
    ("english", "chinese"),
    list(zip(sections(ENGLISH), sections(CHINESE), strict=False)),
    ids=[s.partition("\n")[0] for s, _ in zip(sections(ENGLISH), sections(CHINESE), strict=False)],
)
def test_a_section_names_the_same_commands_options_and_numbers(english: str, chinese: str) -> None:
    for pattern in ("`[^`]+`", r"^\|", r"^\d\. ", r"^\* ", r"^\| \d+ \|", r"^\*\*"):
        found = [
            re.findall(pattern, " ".join(s.split()) if "`" in pattern else s, re.M)
            for s in (english, chinese)
        ]
        assert Counter(found[0]) == Counter(found[1])


def test_the_two_name_each_other() -> None:
    assert "(README.zh.md)" in ENGLISH
    assert "(README.md)" in CHINESE


def test_chinese_sentences_have_chinese_punctuation() -> None:
    prose = re.sub("`[^`]*`", "", CODE.sub("", CHINESE))
    assert not re.findall("[\u4e00-\u9fff][,;:!?]", prose)
