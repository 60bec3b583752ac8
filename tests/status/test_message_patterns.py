"""Patterns over an operator's text mean what they mean in Python, and none of them runs away."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Outcome, Phase
from ascend_opcli.status.message_pattern import MAX_STEPS, MAX_TEXT, Pattern
from ascend_opcli.verification.verdict import judge_status

ATOMS = r"a b A . [ab] [^a] []a] [^]] [\]b] \w \d \s \. \n \x61 \u0061 { } ^ $ \A \Z \b \B (?#x) 中".split()
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{,}", "{}", "*?", "+?", "{1,2}?"]


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map("".join),
        st.tuples(st.sampled_from(["({}|{})", "(?:{}|{})", "(?P<n>{}|{})", "(?i:{}|{})", "{}|{}"]), pair).map(
            lambda drawn: drawn[0].format(*drawn[1])
        ),
        st.tuples(inner, st.sampled_from(REPEATS)).map(lambda drawn: f"(?:{drawn[0]}){drawn[1]}"),
    )


PATTERNS = st.tuples(
    st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?a)"]),
    st.recursive(st.sampled_from(ATOMS), _wider, max_leaves=8),
).map("".join)


@settings(max_examples=400, deadline=None)
@given(PATTERNS, st.text("abA.\n {}]中1", max_size=6))
def test_a_pattern_finds_what_python_finds(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = re.compile(pattern)
        except re.error:  # a group named twice
            assume(False)
    assert Pattern(pattern).found_in(text) is (theirs.search(text) is not None)


# With Python's own matcher each of these outlives the machine.
ENDLESS = [
    "(.|..)*@",
    "(a*)*@",
    "(a+)+@",
    r"(\w|a)+@",
    "((a|aa)+b?)+@",
    ".*" * 14 + "@",
    r"(\s*\w+\s*)*@",
    "(?:a?){200}@",
    "(a|a)*(b|a)*@",
    "(.*.*)*@",
]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_pattern_that_would_not_end_gives_its_verdict(pattern: str) -> None:
    case = load_text(
        "op: logit_grad\ncases:\n- {name: c, dtype: float32, shape: [1], "
        f"expect: {{status: {{code: 161002, message: '{pattern}'}}}}}}\n",
        "f.yaml",
        check_standard=lambda *_: None,
    ).cases[0]

    def verdict(text: str) -> str:
        outcome = Outcome("device", 161002, Phase.ONE, message=text)
        said = judge_status(case, outcome)
        assert said is not None
        return said.word.value

    assert verdict("a" * 400) == "FAIL"
    assert verdict("a" * 400 + "@") == "PASS"


def test_a_text_and_a_pattern_without_measure_are_bounded() -> None:
    assert not Pattern("b").found_in("a" * MAX_TEXT + "b")
    assert Pattern("b").found_in("a" * (MAX_TEXT - 1) + "b")
    long = "a" * (MAX_STEPS - 1) + "b"
    assert not Pattern(long).found_in("a" * 10_000_000)
    assert Pattern(long).found_in("c" * 10 + long)


BEYOND = {
    r"(a)\1": r"message refers back by \1",
    "(?P<n>a)(?P=n)": "message has '(?P=', which",
    "(?=a)": "message has '(?=a', which",
    "(?!a)": "message has '(?!a', which",
    "(?<=a)b": "message has '(?<=', which",
    "(?<!a)b": "message has '(?<!', which",
    "(a)?(?(1)b|c)": "message has '(?(1', which",
    "(?x)a": "message has the flag x",
    "(a{900}){900}": "message repeats so much that it has more than 1,000 steps",
    "a{1001}": "message repeats so much",
    "(": "message is not a regular expression: ",
}


@pytest.mark.parametrize("pattern", BEYOND)
def test_what_is_beyond_the_language_is_said_where_it_stands(pattern: str) -> None:
    expect = f"{{status: {{code: 161002, message: '{pattern}'}}}}"
    text = f"op: logit_grad\ncases:\n- dtype: float32\n  shape: [1]\n  expect: {expect}\n"
    with pytest.raises(CaseFileError) as caught:
        load_text(text, "f.yaml", check_standard=lambda *_: None)
    assert str(caught.value).startswith(f"f.yaml:5:44: {BEYOND[pattern]}")
