"""Kernel times out of msprof's table: which tasks belong to a call, and what is no duration."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_opcli.backends.cann.msprof import Task, per_call, read
from ascend_opcli.errors import SurroundingsError

WARM_UPS, CALLS = 2, 5
OWN = {"EluGrad": "3.0", "Cast": "1.5", "MemSet": "0.5"}


def table(
    own: tuple[str, ...] = ("Cast", "EluGrad"), *, flush: int = 0, before: int = 0, **durations: str
) -> list[Task]:
    """What a run leaves: ``before`` copies of the preparation, ``flush`` fills before each counted call."""
    kinds = ["MemcpyAsync"] * before
    for call in range(WARM_UPS + CALLS):
        kinds += ["MemSet"] * flush if call >= WARM_UPS else []
        kinds += [f"{kind}*" for kind in own]
    known = {**{f"{kind}*": text for kind, text in OWN.items()}, "MemSet": "55.0", "MemcpyAsync": "9.0"}
    known |= {f"{kind}*": text for kind, text in durations.items()}
    return [Task(float(i), kind.rstrip("*"), known[kind]) for i, kind in enumerate(kinds)]


def times(tasks: list[Task], *, flushed: bool = True) -> list[float]:
    return per_call(tasks, WARM_UPS, CALLS, flushed=flushed)


@pytest.mark.parametrize("flush", [0, 1, 2, 4])
@pytest.mark.parametrize("before", [0, 1, 7])
def test_only_the_operators_own_tasks_count(flush: int, before: int) -> None:
    assert times(table(flush=flush, before=before)) == pytest.approx([4.5e-6] * CALLS)


@pytest.mark.parametrize("own", [("MemSet", "EluGrad"), ("EluGrad", "MemSet"), ("Cast", "MemSet", "EluGrad")])
@pytest.mark.parametrize("flush", [0, 1])
@pytest.mark.parametrize("before", [0, 3])
def test_a_fill_that_belongs_to_the_operator_counts(own: tuple[str, ...], flush: int, before: int) -> None:
    expected = sum(float(OWN[kind]) for kind in own) * 1e-6
    assert times(table(own, flush=flush, before=before)) == pytest.approx([expected] * CALLS)


@pytest.mark.parametrize("flush", [1, 2])
@pytest.mark.parametrize("missing", [{0}, {1, 3}, {0, 1, 2, 3, 4}, {4}])
@pytest.mark.parametrize("before", [0, 2])
def test_rows_of_a_flush_that_are_missing_shift_no_others(flush: int, missing: set[int], before: int) -> None:
    whole = table(flush=flush, before=before)
    flushes = [t for t in whole if t.kind == "MemSet"]
    gone = {id(flushes[i * flush]) for i in missing}
    assert times([t for t in whole if id(t) not in gone]) == pytest.approx([4.5e-6] * CALLS)


@pytest.mark.parametrize("own", [("MemSet", "EluGrad"), ("EluGrad", "MemSet")])
def test_where_fills_of_the_operator_cannot_be_told_from_the_flush_nothing_is_guessed(
    own: tuple[str, ...],
) -> None:
    whole = table(own, flush=1)
    gone = next(t for t in reversed(whole) if t.kind == "MemSet")
    with pytest.raises(SurroundingsError, match="cannot be shared out"):
        times([t for t in whole if t is not gone])


def test_without_a_flush_no_fill_is_taken_for_one() -> None:
    assert times(table(("MemSet", "EluGrad")), flushed=False) == pytest.approx([3.5e-6] * CALLS)
    with pytest.raises(SurroundingsError, match="cannot be shared out"):
        times(table(flush=1), flushed=False)


def test_the_tables_own_order_does_not_matter() -> None:
    assert times(list(reversed(table(flush=1)))) == pytest.approx([4.5e-6] * CALLS)


@pytest.mark.parametrize("text", ["N/A", "-5", "", "nan", "inf", "1e300", "soon"])
@pytest.mark.parametrize("kind", ["Cast", "EluGrad"])
def test_a_duration_that_is_none_is_a_sentence(kind: str, text: str) -> None:
    with pytest.raises(SurroundingsError, match=f"{kind} has no duration that could be counted"):
        times(table(flush=1, **{kind: text}))


def test_what_is_not_counted_needs_no_duration() -> None:
    tasks = table(flush=1, before=2)
    own = {id(t) for t in tasks[2 : 2 + 2 * WARM_UPS]}
    bare = [Task(t.start, t.kind, "N/A") if "Mem" in t.kind or id(t) in own else t for t in tasks]
    assert times(bare) == pytest.approx([4.5e-6] * CALLS)


def test_calls_that_took_no_time_are_a_sentence() -> None:
    with pytest.raises(SurroundingsError, match="no time at all"):
        times(table(Cast="0", EluGrad="0.0"))


@pytest.mark.parametrize("drop", [0, 3, -1])
def test_a_task_too_few_or_too_many_is_a_sentence(drop: int) -> None:
    tasks = table(flush=1)
    with pytest.raises(SurroundingsError, match=f"{len(tasks) - 1} tasks of 7 calls"):
        times([t for i, t in enumerate(tasks) if i != drop % len(tasks)])
    with pytest.raises(SurroundingsError, match=f"{len(tasks) + 1} tasks of 7 calls"):
        times([*tasks, tasks[drop]])
    with pytest.raises(SurroundingsError, match="0 tasks of 7 calls"):
        times([])


def test_calls_that_are_not_alike_are_a_sentence() -> None:
    tasks = table()
    tasks[-1] = Task(tasks[-1].start, "Other", "1.0")
    with pytest.raises(SurroundingsError, match="cannot be shared out"):
        times(tasks)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Op Name,OP Type\na,b\n", "has no column Task Duration"),
        ("", "has no column Task Duration"),
        ("Task Duration(us)\n" + "x" * 200_000 + "\n", "cannot be read"),
    ],
)
def test_a_table_that_is_none_is_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "op_summary_1.csv"
    path.write_text(text)
    with pytest.raises(SurroundingsError, match=sentence):
        read(path)
