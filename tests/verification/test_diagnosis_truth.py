"""What a diagnosis says of places and inputs holds of the elements, exactly; of chance nothing is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.model import StandardChoice
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.diagnosis import diagnose

ECOSYSTEM = StandardChoice("ecosystem")


def sentence_of(
    mask: np.ndarray, seed: int = 0, dtype: str = "float32", inputs: Mapping[str, np.ndarray] | None = None
) -> str:
    """What is said of unrelated errors in the elements of a mask."""
    rng = np.random.default_rng([3, seed])
    golden = rng.normal(size=mask.shape)
    errors = np.where(rng.random(mask.shape) < 0.5, -1, 1) * rng.uniform(4, 9, size=mask.shape)
    got = np.where(mask, golden + errors, golden).astype(dtype)
    return diagnose(Comparison("out", got, golden, dtype, inputs=inputs), ECOSYSTEM).sentence


# --- sentences read back ------------------------------------------------------------------------------------------

N = r"([\d,]+)"


def number(text: str) -> int:
    return int(text.replace(",", ""))


Check = Callable[[np.ndarray, int, list[int]], bool]
"""Whether a sentence with these numbers holds of a flat mask with elements of so many bytes."""


def _head(m: np.ndarray, size: int, n: list[int]) -> bool:
    length, total, octets, first_right = n
    return (
        bool(m[:length].all() and not m[length:].any())
        and (total, octets, first_right) == (m.size, length * size, length)
        and not m[first_right]
    )


def _nearly_head(m: np.ndarray, size: int, n: list[int]) -> bool:
    length, total, count, same, octets = n
    held = (total, same, octets) == (m.size, length, length * size)
    return held and int(m[:length].sum()) == count < length and not m[length:].any()


def _tail(m: np.ndarray, size: int, n: list[int]) -> bool:
    length, total, first, octets = n
    held = (total, first, octets) == (m.size, m.size - length, length * size)
    return held and bool(m[first:].all() and not m[:first].any())


def _tail_inside(m: np.ndarray, size: int, n: list[int]) -> bool:
    return _tail(m, size, n) and n[2] * size > (m.size * size - 1) // 32 * 32


def _block(partly: bool) -> Check:
    def check(m: np.ndarray, size: int, n: list[int]) -> bool:
        first = n[2]
        filled = m.size * size - first * size
        return _tail(m, size, n) and first * size % 32 == 0 and (filled < 32) is partly and filled <= 32

    return check


def _nearly_tail(m: np.ndarray, size: int, n: list[int]) -> bool:
    length, total, count, same, octets, first = n
    held = (total, same, octets, first) == (m.size, length, length * size, m.size - length)
    return held and int(m[first:].sum()) == count < length and not m[:first].any()


def _everything_from(m: np.ndarray, _size: int, n: list[int]) -> bool:
    first, length, total = n
    return (length, total) == (m.size - first, m.size) and bool(m[first:].all() and not m[:first].any())


def _nearly_everything_from(m: np.ndarray, _size: int, n: list[int]) -> bool:
    first, count, length = n
    return length == m.size - first and int(m[first:].sum()) == count < length and not m[:first].any()


def _stretch(m: np.ndarray, size: int, n: list[int]) -> bool:
    low, high, length, total, octets = n
    held = (length, total, octets) == (high - low + 1, m.size, (high - low + 1) * size)
    return held and bool(m[low : high + 1].all()) and int(m.sum()) == length


def _nearly_stretch(m: np.ndarray, size: int, n: list[int]) -> bool:
    low, high, count, length, octets = n
    held = (length, octets) == (high - low + 1, (high - low + 1) * size)
    return held and int(m[low : high + 1].sum()) == count == int(m.sum()) < length


def _from_on(m: np.ndarray, _size: int, n: list[int]) -> bool:
    first, count, after = n
    return not m[:first].any() and int(m.sum()) == count and after == m.size - first


KINDS: dict[str, Check] = {
    rf"only the first {N} of {N} elements are wrong \({N} bytes[^)]*\): element {N} is the first right one": _head,
    rf"nearly all of the first {N} of {N} elements are wrong \({N} of {N}; {N} bytes[^)]*\), none after them": (
        _nearly_head
    ),
    rf"only the last {N} of {N} elements are wrong, from element {N} on \({N} bytes[^)]*\)": _tail,
    rf"only the last {N} of {N} elements are wrong, from element {N} on \({N} bytes[^)]*\),"
    r" inside the last block of 32 bytes": _tail_inside,
    rf"only the last block of 32 bytes, {N} elements? of {N}, is wrong, from element {N} on \({N} bytes[^)]*\)": _block(
        False
    ),
    rf"only the last, partly filled block of 32 bytes, {N} elements? of {N}, is wrong, from element {N} on"
    rf" \({N} bytes[^)]*\)": _block(True),
    rf"nearly all of the last {N} of {N} elements are wrong \({N} of {N}; {N} bytes[^)]*\), from element {N} on,"
    r" none before it": _nearly_tail,
    rf"from element {N} on everything is wrong \({N} of {N} elements[^)]*\)": _everything_from,
    rf"from element {N} on nearly everything is wrong \({N} of {N} elements[^)]*\), nothing before it": (
        _nearly_everything_from
    ),
    rf"only elements {N} to {N} are wrong \({N} of {N}, {N} bytes[^)]*\)": _stretch,
    rf"nearly all of the elements {N} to {N} are wrong \({N} of {N}; {N} bytes[^)]*\), none of the others": (
        _nearly_stretch
    ),
    rf"no element before {N} is wrong, {N} of the {N} from there on are": _from_on,
}

PERIOD = re.compile(
    rf"the errors repeat with a period of {N} elements?(?:, {N} bytes|, ([^:;]*? of [\d,]+))?, at offset {N}"
    rf"(?:, {N} each time)?(?:: (?:index|the indices) (\d+)(?: to (\d+))? of axis (\d+) \({N} long[^)]*\))?"
    rf"(?:; {N} of the {N} elements there are wrong)?"
)
AXIS_0 = re.compile(
    rf"(?:only|all errors lie at) (?:index|the indices) (\d+)(?: to (\d+))? of axis 0 \({N} long[^)]*\)"
    rf"(?: is wrong| are wrong)?(?:; {N} of the {N} elements there are wrong)?"
)
SINGLE = re.compile(rf"only (the first|the last|one) of {N} elements(?:, (\[[\d, ]+\]|[\d,]+),)? is wrong")
NAMED = re.compile(rf"{N} is {N} (?:row|column|channel|slice)s?(?: of axis \d+)? of {N}|{N} = {N} x {N}")


def of_place(mask: np.ndarray, place: np.ndarray, counts: tuple[str | None, ...]) -> bool:
    """All wrong elements lie in a place; all of it is wrong, or as much as is said."""
    if (mask & ~place).any():
        return False
    if counts[0] is None:
        return bool(mask[place].all())
    assert counts[1] is not None
    return (number(counts[0]), number(counts[1])) == (int(mask.sum()), int(place.sum()))


def true(sentence: str, mask: np.ndarray, size: int) -> bool:
    """Reads a sentence on places and looks whether the mask is like that."""
    flat = mask.reshape(-1)
    sentence = sentence.partition(": got is ")[0]  # of a few elements another thing may be true as well
    for named in NAMED.finditer(sentence):
        a, b, c = (number(g) for g in named.groups() if g)
        if a != b * c:
            return False
    for pattern, check in KINDS.items():
        if found := re.fullmatch(pattern, sentence):
            return check(flat, size, [number(g) for g in found.groups()])
    if found := PERIOD.fullmatch(sentence):
        period, octets, _, offset, width, low, high, axis, dim, wrong, there = found.groups()
        start, length = number(offset), number(width or "1")
        place = (np.arange(flat.size) % number(period) - start) % number(period) < length
        if octets and number(octets) != number(period) * size:
            return False
        if axis is not None:
            index = np.arange(flat.size) // int(np.prod(mask.shape[int(axis) + 1 :])) % number(dim)
            same = (index >= int(low)) & (index <= int(high or low))
            if number(dim) != mask.shape[int(axis)] or (same != place).any():
                return False
        return of_place(flat, place, (wrong, there))
    if found := AXIS_0.fullmatch(sentence):
        low, high, dim, wrong, there = found.groups()
        place = np.zeros(mask.shape, bool)
        place[int(low) : int(high or low) + 1] = True
        return number(dim) == mask.shape[0] and of_place(flat, place.reshape(-1), (wrong, there))
    if found := SINGLE.fullmatch(sentence):
        which, total, index = found.groups()
        if number(total) != flat.size or flat.sum() != 1:
            return False
        place = int(np.argmax(flat))
        if index:
            at = np.unravel_index(place, mask.shape) if index.startswith("[") else (place,)
            if [int(i) for i in at] != [number(w) for w in re.findall(r"\d[\d,]*\d|\d", index)]:
                return False
        return {"the first": place == 0, "the last": place == flat.size - 1}.get(which, True)
    return sentence.startswith(("no simple pattern", "got is "))


# --- places -------------------------------------------------------------------------------------------------------

SHAPES = [(1000,), (1003,), (20, 50), (10, 4, 25), (4, 6, 8, 5), (64, 16), (3, 7), (96,), (40, 96)]


def masks(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Every kind of place, on every shape, as it is and nearly."""
    for shape in rng.choice(np.array(SHAPES, object), 3, replace=False):
        total = int(np.prod(shape))
        length = int(rng.integers(2, max(3, total // 2)))
        start = int(rng.integers(0, total - length))
        period = int(rng.integers(3, max(4, total // 4)))
        clean = [slice(0, length), slice(total - length, None), slice(start, start + length)]
        clean += [slice(total - k, None) for k in (1, 2, 3, 8, 9, 16)] + [slice(total // 4, None)]
        clean += [slice(int(rng.integers(0, period)), None, period)]
        for where in clean:
            mask = np.zeros(total, bool)
            mask[where] = True
            yield mask.reshape(shape)
        wide = np.arange(total) % period < max(1, period // 3)
        yield wide.reshape(shape)
        yield (wide & (np.arange(total) < 0.7 * total)).reshape(shape)
        for axis, dim in enumerate(shape):
            mask = np.zeros(shape, bool)
            low = int(rng.integers(0, dim))
            mask[(slice(None),) * axis + (slice(low, low + max(1, dim // 5)),)] = True
            yield mask


def near_misses(mask: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The mask, and masks that differ from it in a few elements inside, outside or anywhere."""
    yield mask
    flat = mask.reshape(-1)
    wrong, right = np.flatnonzero(flat), np.flatnonzero(~flat)
    for among in (wrong, right, np.arange(flat.size)):
        for count in (1, max(2, len(wrong) // 20)):
            if len(among) > count:
                other = flat.copy()
                other[rng.choice(among, count, replace=False)] ^= True
                if other.any():
                    yield other.reshape(mask.shape)


@pytest.mark.parametrize(("dtype", "seed"), [("float32", 0), ("float32", 1), ("float16", 2), ("float64", 3)])
def test_what_is_said_of_places_holds_of_the_elements(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    seen: set[str] = set()
    for mask in masks(rng):
        for near in near_misses(mask, rng):
            sentence = sentence_of(near, seed, dtype)
            assert true(sentence, near, size), (sentence, near.shape, np.flatnonzero(near).tolist()[:50])
            seen |= {pattern for pattern in KINDS if re.fullmatch(pattern, sentence)}
    assert len(seen) >= 9, seen


@settings(max_examples=300)
@given(st.data())
def test_what_is_said_of_any_mask_holds(data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(12,), (40,), (5, 8), (4, 3, 6), (100,), (9, 9)]))
    total = int(np.prod(shape))
    runs = data.draw(
        st.lists(st.tuples(st.integers(0, total - 1), st.integers(1, total)), min_size=1, max_size=4)
    )
    mask = np.zeros(total, bool)
    for start, length in runs:
        mask[start : start + length] ^= True
    if mask.any():
        sentence = sentence_of(mask.reshape(shape))
        assert true(sentence, mask.reshape(shape), 4), sentence


def test_the_reader_finds_what_is_false() -> None:
    """The test of the tests: sentences that do not hold are seen."""
    mask = np.zeros(1000, bool)
    mask[:100] = True
    right = "only the first 100 of 1,000 elements are wrong (400 bytes): element 100 is the first right one"
    assert true(right, mask, 4)
    mask[50] = False
    assert not true(right, mask, 4)
    mask = np.zeros(1000, bool)
    mask[998:] = True
    block = "only the last block of 32 bytes, 2 elements of 1,000, is wrong, from element 998 on (8 bytes)"
    assert not true(block, mask, 4)
    assert true("only the last 2 of 1,000 elements are wrong, from element 998 on (8 bytes)", mask, 4)
    assert not true("something else", mask, 4)


def test_many_wrong_elements_are_said_to_be_looked_at_in_part() -> None:
    mask = np.zeros((600, 1000), bool)
    mask[:, 200:700] = True
    assert sentence_of(mask).endswith("; by the first 65,536 of 300,000 wrong elements") or sentence_of(
        mask
    ).endswith("; by the first 262,144 of 300,000 wrong elements")


# --- conditions ---------------------------------------------------------------------------------------------------

CONDITION = re.compile(r"have |has | golden|branch")


def unrelated(rng: np.random.Generator, total: int) -> dict[str, np.ndarray]:
    """Inputs of every kind that have nothing to do with the errors."""
    special = rng.normal(size=total).astype(np.float32)
    special[rng.choice(total, max(1, total // 20), replace=False)] = 0
    if total >= 60:
        special[rng.choice(total, 3, replace=False)] = np.nan
    return {
        "x": rng.normal(size=total).astype(np.float32),
        "y": special,
        "n": rng.integers(0, 4, size=total).astype(np.int32),
        "b": rng.random(total) < 0.5,
    }


@pytest.mark.parametrize("count", range(2, 101))
def test_errors_at_random_places_have_no_condition(count: int) -> None:
    """Among 1,000. 200 seeds where a condition is met by chance most easily; so all sizes were tried once."""
    for seed in range(200 if count in (2, 8, 12) else 6):
        rng = np.random.default_rng([count, seed])
        mask = np.zeros(1000, bool)
        mask[rng.choice(1000, count, replace=False)] = True
        sentence = sentence_of(mask, seed, inputs=unrelated(rng, 1000))
        assert not CONDITION.search(sentence), sentence


@pytest.mark.parametrize("total", range(2, 101))
def test_errors_at_random_places_of_a_small_output_have_no_condition(total: int) -> None:
    for seed in range(200 if total in (16, 64) else 4):
        rng = np.random.default_rng([total, seed, 1])
        mask = rng.random(total) < rng.choice([0.1, 0.3, 0.5])
        if mask.any():
            sentence = sentence_of(mask, seed, inputs=unrelated(rng, total))
            assert not CONDITION.search(sentence), sentence


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("x <= 0", lambda x: x <= 0),
        ("x >= 1", lambda x: x > 1),
        ("|x| <= 1", lambda x: np.abs(x) <= 1),
        ("x <= -1", lambda x: x < -1),
    ],
)
def test_a_condition_that_there_is_is_found_and_holds(
    text: str, holds: Callable[[np.ndarray], np.ndarray], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    inputs = unrelated(rng, 2000)
    sentence = sentence_of(holds(inputs["x"]), seed, inputs=inputs)
    assert sentence.startswith(f"exactly the elements that have {text} are wrong (")
    # Most of the elements on that side only.
    mask = holds(inputs["x"]) & (rng.random(2000) < 0.5)
    sentence = sentence_of(mask, seed, inputs=inputs)
    if mask.sum() >= 50:
        assert sentence.startswith(f"all {mask.sum():,} wrong elements have {text}")


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_written_so_that_they_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = {"x": (rng.normal(size=2000) * 10.0 ** rng.integers(-6, 7)).astype(np.float32)}
    x = inputs["x"].astype(np.float64)
    low, high = np.quantile(x, sorted(rng.uniform(0.1, 0.9, size=2)))
    for mask in (x <= high, x >= low, (x >= low) & (x <= high)):
        if not 20 <= mask.sum() <= 1900:
            continue
        sentence = sentence_of(mask, seed, inputs=inputs)
        found = re.fullmatch(
            r"exactly the elements that have (?:(\S+) <= )?(\|?)x\|?(?: (<=|>=) (\S+))? are wrong \([\d,]+\)",
            sentence,
        )
        assert found, sentence
        first, size, way, bound = found.groups()
        line = np.abs(x) if size else x
        there = np.ones(2000, bool) if first is None else line >= float(first.replace(",", ""))
        if way == "<=":
            there &= line <= float(bound.replace(",", ""))
        elif way == ">=":
            there &= line >= float(bound.replace(",", ""))
        assert (there == mask).all(), sentence


def test_of_a_large_output_it_is_said_that_a_sample_was_looked_at() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200_000).astype(np.float32)
    sentence = sentence_of(x < -3, inputs={"x": x})
    assert re.search(
        r"exactly the elements that have x <= -\S+ are wrong \([\d,]+, by a sample\)", sentence
    ), sentence
