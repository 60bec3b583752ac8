"""What a worker process may say: arrays and our own records, and nothing that would run code here."""

from __future__ import annotations

import os
import pickle
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ascend_opcli.backends.child import Child, Stamped, _received, ended
from ascend_opcli.model import Outcome, Phase


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/opcli-evil-answer",)


def sent(message: object) -> Any:
    ours, theirs = Pipe()
    with ours, theirs:
        theirs.send_bytes(message if isinstance(message, bytes) else pickle.dumps(message))
        return _received(ours)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.complex128, np.bool_, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
)
def test_outcomes_with_arrays_arrive(dtype: Any) -> None:
    array = np.arange(6).astype(dtype).reshape(2, 3).T
    outcome = Outcome("candidate", 161002, Phase.SYNC, {"out": array}, written={"out": array == array})
    word, said = sent(("done", outcome))
    assert (word, said.status, said.phase) == ("done", 161002, Phase.SYNC)
    np.testing.assert_array_equal(said.outputs["out"], array)
    assert said.outputs["out"].dtype == array.dtype


@pytest.mark.parametrize(
    "message",
    [
        ("done", Evil()),
        ("done", [os.system]),
        ("done", np.array([Evil()], object)),
        b"no pickle at all",
        b"",
        ("only one",),
        pickle.dumps(("done", Outcome))[:-5],
    ],
)
def test_anything_else_counts_as_a_lost_process_and_is_not_run(message: object) -> None:
    with pytest.raises((OSError, EOFError)):
        sent(message)
    assert not os.path.exists("/tmp/opcli-evil-answer")


def test_how_a_process_ended_is_told_by_name() -> None:
    assert ended(3, "the program") == "the program exited with 3"
    assert ended(-11, "the program") == "SIGSEGV"


@pytest.mark.parametrize(
    ("strays", "dropped"),
    [
        ([("step", Stamped(4, 70, "the call")), ("done", Stamped(4, 70, "late"))], False),
        ([("step", Stamped(5, 71, "the call")), ("done", Stamped(5, 71, "another process"))], True),
        ([], False),
    ],
)
def test_the_answer_of_another_process_or_request_is_dropped(
    strays: list[Any], dropped: bool, tmp_path: Path
) -> None:
    child = Child("none", tmp_path, what="it", start_timeout=1, timeout=5)
    child._pipe, theirs = Pipe()
    child._speaker, child._number = 70, 4
    with child._pipe, theirs:
        for message in [*strays, ("done", Stamped(5, 70, "ours"))]:
            theirs.send(message)
        assert child.ask("anything") == "ours"
        assert theirs.recv() == (5, "anything")
        assert child.dropped is dropped
