"""YAML as a user expects it: numbers are numbers, words stay words, every mistake has its place."""

from __future__ import annotations

import math

import pytest

from ascend_opcli.casefile import tree, yaml_text
from ascend_opcli.errors import CaseFileError


def plain(text: str) -> object:
    node = yaml_text.parse(text, "f.yaml")
    return None if node is None else tree.plain(node)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("1E+3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.0", -1.0),
        ("+7", 7),
        ("007", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("null", None),
        ("~", None),
        ("Null", None),
        ("", None),
        ("true", True),
        ("False", False),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("no", "no"),
        ("off", "off"),
        ("yes", "yes"),
        ("y", "y"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-01-02", "2026-01-02"),
        ("1.2.3", "1.2.3"),
        ("'1'", "1"),
        ('"null"', "null"),
        ("=", "="),
        ("!!str 12", "12"),
        ("!!float 3", 3.0),
        ("! 5", "5"),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    made = plain(f"a: {text}\n")
    assert isinstance(made, dict)
    assert made["a"] == value
    assert type(made["a"]) is type(value)


def test_nan_and_minus_zero() -> None:
    made = plain("[.nan, -0.0]")
    assert isinstance(made, list)
    assert math.isnan(made[0])
    assert math.copysign(1.0, made[1]) == -1.0


def test_every_node_knows_its_line_and_column() -> None:
    root = yaml_text.parse("a: 1\nb:\n  - [x, {k: y}]\n", "f.yaml")
    assert isinstance(root, tree.Mapping)
    assert root.places == {"a": (1, 1), "b": (2, 1)}
    outer = root.entries["b"]
    assert isinstance(outer, tree.Sequence)
    inner = outer.items[0]
    assert isinstance(inner, tree.Sequence)
    assert (inner.line, inner.column) == (3, 5)
    last = inner.items[1]
    assert isinstance(last, tree.Mapping)
    assert str(last.entries["k"].where) == "f.yaml:3:13"


def test_columns_count_characters_not_bytes() -> None:
    with pytest.raises(CaseFileError) as caught:
        plain("äöü: 1\nñ: &a [1, *b]\n")
    assert str(caught.value.where) == "f.yaml:2:11"


def test_aliases_and_merge_keys() -> None:
    text = """
    x-base: &base {dtype: float32, shape: [4]}
    x-more: &more {shape: [5], layout: padded}
    one: {<<: *base, shape: [9]}
    two: {shape: [9], <<: *base}
    three: {<<: [*base, *more]}
    four: *base
    """
    made = plain(text)
    assert isinstance(made, dict)
    assert made["one"] == made["two"] == {"dtype": "float32", "shape": [9]}
    assert made["three"] == {"dtype": "float32", "shape": [4], "layout": "padded"}
    assert made["four"] == {"dtype": "float32", "shape": [4]}


def test_a_key_that_a_merge_brought_is_not_a_repetition() -> None:
    assert plain("a: &a {k: 1}\nb:\n  <<: *a\n  k: 2\n") == {"a": {"k": 1}, "b": {"k": 2}}


def test_an_anchor_may_be_set_anew() -> None:
    assert plain("[&a 1, *a, &a 2, *a]") == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key 'a' is repeated; it stands on line 1 already"),
        ("a: {k: 1,\n  'k': 2}\n", "f.yaml:2:3: the key 'k' is repeated; it stands on line 1 already"),
        ("<<: {a: 1}\n<<: {b: 1}\n", "f.yaml:2:1: the key '<<' is repeated; it stands on line 1 already"),
        ("1: a\n", "f.yaml:1:1: a key is a word, not 1; quote it: '1'"),
        ("true: a\n", "f.yaml:1:1: a key is a word, not true; quote it: 'true'"),
        ("? [a]\n: b\n", "f.yaml:1:3: a key is a word, not a list"),
        ("a: *b\n", "f.yaml:1:4: there is no anchor &b before this alias"),
        ("a: &b [1, *b]\n", "f.yaml:1:11: the anchor &b contains itself"),
        ("a: &b {c: {d: *b}}\n", "f.yaml:1:15: the anchor &b contains itself"),
        ("<<: 3\n", "f.yaml:1:5: << takes a mapping or a list of mappings, not 3"),
        ("a: 1\n---\nb: 1\n", "f.yaml:2:1: a second document begins here; a case file is one document"),
        (
            "a: !!python/object/apply:os.system [ls]\n",
            "f.yaml:1:4: the tag !!python/object/apply:os.system is not allowed; a case file holds plain data",
        ),
        ("a: !mine 1\n", "f.yaml:1:4: the tag !mine is not allowed; a case file holds plain data"),
        ("a: !!int no\n", "f.yaml:1:4: 'no' is not what its tag !!int says"),
        ("a: !!set {x}\n", "f.yaml:1:4: the tag !!set is not allowed; a case file holds plain data"),
        ("a: 1e999\n", "f.yaml:1:4: 1e999 is too large for a double; infinity is written .inf"),
        ("a: " + "9" * 400 + "\n", "f.yaml:1:4: a number of 400 digits is too large"),
        ("a:\n\t- b\n", "f.yaml:2:1: a tab cannot indent YAML; use spaces"),
        ("a: [1,\n", "f.yaml:2:1: this is not YAML: did not find expected node content"),
        ("a: b: c\n", "f.yaml:1:5: this is not YAML: mapping values are not allowed in this context"),
        ("ok: 1\nbad: \x00\n", "f.yaml:2:6: the character U+0000 cannot stand in YAML"),
        ("a: '\ud800'\n", "f.yaml:1:5: the character U+D800 cannot stand in YAML"),
    ],
)
def test_mistakes_have_one_sentence_with_their_place(text: str, message: str) -> None:
    with pytest.raises(CaseFileError) as caught:
        plain(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_bytes_are_utf_8_with_or_without_a_byte_order_mark() -> None:
    assert yaml_text.decode("\ufeffa: ü".encode(), "f.yaml") == "a: ü"
    with pytest.raises(CaseFileError, match=r"^f\.yaml:2:4: this is not UTF-8 text \(byte 0xff\)$"):
        yaml_text.decode(b"a: 1\nb: \xff", "f.yaml")
    with pytest.raises(CaseFileError, match="UTF-16; save the file as UTF-8"):
        yaml_text.decode("a: 1".encode("utf-16"), "f.yaml")


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n"])
def test_nothing_is_nothing(text: str) -> None:
    assert plain(text) is None


def test_the_pure_python_parser_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    text = "a: &x [1e-6, no, 'q', {k: ~}]\nb: *x\nc: {<<: {d: 1}, e: 0x10}\n"
    fast = plain(text)
    monkeypatch.setattr(yaml_text, "_LOADER", yaml.SafeLoader)
    assert plain(text) == fast
    with pytest.raises(CaseFileError, match=r"^f\.yaml:2:1: "):
        plain("a: [1,\n")
