"""What travels between the rooms: a case, the call it becomes, its outcome and the verdict.

Text -> :class:`Case` -> :class:`Call` -> :class:`Outcome` -> :class:`Verdict` -> report. Everything here is
frozen and knows nothing of the rest of the package.
"""

# More than 400 lines: the nouns of every room, which refer to each other.
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING
from typing import Literal as OneOf

if TYPE_CHECKING:
    import numpy as np

Number = bool | int | float | complex
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a text: line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


# --- data: the values of a tensor, as written ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fill:
    """Every element has this value."""

    value: Number


@dataclass(frozen=True, slots=True)
class Values:
    """Exactly these values, flat and row-major."""

    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Generator:
    """Values drawn by rule: ``kind`` is uniform, normal, integers, choice, linspace or permutation.

    ``specials`` are values that are sure to appear, at places that depend on the seed.
    """

    kind: str
    args: tuple[Number, ...] = ()
    specials: tuple[Number, ...] = ()


@dataclass(frozen=True, slots=True)
class FromFile:
    """Values of a file that the loader has found, inside the case file's folder; ``key`` picks an .npz member.

    ``transposed``: the last two axes of the file's tensor are swapped.
    """

    path: str
    key: str | None = None
    specials: tuple[Number, ...] = ()
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """Values that an expression over other inputs and attributes gives."""

    text: str
    specials: tuple[Number, ...] = ()


Data = Fill | Values | Generator | FromFile | Derived


# --- arguments of a call, as written but complete -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An aclTensor: ``shape``, ``strides`` and ``offset`` describe the view, in elements.

    ``strides`` and ``storage_shape`` are always concrete. ``layout`` keeps the word that was written
    (contiguous, transposed, reversed, padded, or strided where strides were given). ``data`` is None for an
    output, whose content the operator makes. ``alias`` names the input whose memory an output shares.
    """

    dtype: str
    shape: Shape
    data: Data | None
    strides: Shape
    offset: int
    storage_shape: Shape
    layout: str = "contiguous"
    format: str = "ND"
    alias: str = ""

    @property
    def count(self) -> int:
        """Number of elements of the view."""
        count = 1
        for dim in self.shape:
            count *= dim
        return count


@dataclass(frozen=True, slots=True)
class Attribute:
    """An aclScalar, a plain C value, a string or an array; ``dtype`` only where an aclScalar's was written."""

    value: Number | str | tuple[Number, ...]
    dtype: str | None = None


Argument = TensorSpec | tuple[TensorSpec, ...] | Attribute | None
"""One parameter's value; None is the null pointer."""


# --- a case -------------------------------------------------------------------------------------------------


class Phase(str, Enum):
    """Where a status comes from: GetWorkspaceSize, the launch, or the synchronise after it."""

    ONE = "1"
    TWO = "2"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class ExpectedStatus:
    """The status that a case demands; ``message`` is a regular expression over the operator's error text."""

    code: int
    phase: Phase = Phase.ONE
    message: str | None = None


@dataclass(frozen=True, slots=True)
class StandardChoice:
    """A standard by name with the numbers and words that were given, and where the choice was made."""

    name: str
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Only:
    """Where a case applies; elsewhere it is skipped. An empty tuple or None does not restrict."""

    products: tuple[str, ...] = ()
    backend: str | None = None
    cann: str | None = None


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """The mark of a failure that somebody knows about; ``expires`` is an ISO date."""

    reason: str
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One operator call as a person wrote it, after merging, matrix expansion and inference of outputs.

    ``operator`` is the aclnn name. ``arguments`` holds every parameter of the signature, in its order.
    ``status`` is None where the case does not demand one (success is expected then, and on a device a
    refusal by contract is only noted). ``open_outputs`` names outputs whose shape is that of the reference's
    result, which only a run can tell. ``got`` holds every output as another machine has made it:
    these are judged, and nothing is run. ``source`` is the case as plain data, fit to be printed as one stand-alone
    document. ``skip`` says why the case is not run: a file of another tool may leave a call open,
    ``arguments`` is empty then, or name a standard that nobody here knows. ``damaged``: it is not run because a
    file that is there cannot be read, which is an error. ``via``: aclnn or ir (by its type).
    """

    path: str
    name: str
    operator: str
    arguments: Mapping[str, Argument]
    where: Where
    description: str = ""
    product: str | None = None
    seed: int = 0
    tags: tuple[str, ...] = ()
    only: Only | None = None
    reference: str | None = None
    signature: str | None = None
    via: str | None = None
    standard: StandardChoice | None = None
    output_standards: Mapping[str, StandardChoice] = field(default_factory=dict)
    status: ExpectedStatus | None = None
    expected_outputs: Mapping[str, Data | OneOf["ignore"]] = field(default_factory=dict)
    got: Mapping[str, Data] = field(default_factory=dict)
    known_issue: KnownIssue | None = None
    repeat: int = 1
    deterministic: int | None = None
    open_outputs: tuple[str, ...] = ()
    skip: str = ""
    damaged: bool = False
    source: Mapping[str, object] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """``logit_grad.yaml::smallest``: the file's name without its folder, and the case's."""
        return f"{self.path.replace(chr(92), '/').rsplit('/', 1)[-1]}::{self.name}"


# --- a call and its outcome ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor made concrete: ``storage`` is the flat array that the spec's view looks into."""

    spec: TensorSpec
    storage: np.ndarray


BoundArgument = Tensor | tuple[Tensor, ...] | Attribute | None


@dataclass(frozen=True, slots=True)
class Call:
    """A case made concrete: every parameter bound, in the order of the signature.

    Outputs are bound to tensors without content (their storage is made by the backend): here they stand as
    specs in ``outputs``. ``inputs_sha256`` is the hash of every input's name, dtype, shape and bytes.
    """

    operator: str
    product: str
    arguments: Mapping[str, BoundArgument]
    outputs: Mapping[str, TensorSpec | tuple[TensorSpec, ...] | None]
    inputs_sha256: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a backend gives back. ``outputs`` are arrays of the outputs' dtypes and shapes (inout tensors too).

    ``message`` is the operator's error text, or the rule that the host's contract names. ``findings`` are
    faults of the operator beside its status and numbers, a sentence each. ``skip`` says why nothing can be
    said about this call here, ``error`` that the surroundings failed. ``written`` marks, by output, the
    elements that no longer hold the poison, where some do. ``captured_output`` is what the kernel printed, ``log`` the
    ERROR lines of the plog, ``served_by`` the library that held the entry points. ``again`` is what other calls of
    the operator were found to do.
    """

    backend: str
    status: int = 0
    phase: Phase = Phase.ONE
    outputs: Mapping[str, np.ndarray | tuple[np.ndarray, ...]] = field(default_factory=dict)
    message: str = ""
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skip: str = ""
    error: str = ""
    written: Mapping[str, np.ndarray] = field(default_factory=dict)
    captured_output: str = ""
    log: tuple[str, ...] = ()
    served_by: str = ""
    again: tuple[Again, ...] = ()

    @property
    def has_status(self) -> bool:
        """Whether a status was observed: the device's, or what the host's contract says. Others give outputs alone."""
        return self.backend in ("host", "device")


@dataclass(frozen=True, slots=True)
class Again:
    """A fault of another call than the case's own: ``said`` is told after the numbers of that one.

    ``outputs`` are reports of what failed there. ``seed`` draws the inputs, of that hash, again; None where none does.
    """

    said: str
    outputs: tuple[OutputReport, ...] = ()
    seed: int | None = None
    inputs_sha256: str = ""


# --- judgement ----------------------------------------------------------------------------------------------


class VerdictKind(str, Enum):
    """What a verdict says. KNOWN counts as skipped."""

    PASS = "PASS"
    FAIL = "FAIL"
    ERROR = "ERROR"
    SKIP = "SKIP"
    KNOWN = "KNOWN"


@dataclass(frozen=True, slots=True)
class Census:
    """How the elements of an output fared. ``exact``, ``within`` and ``over`` add up to ``total``.

    The rest are kinds of error counted beside that: an element can be over and have its sign flipped.
    """

    total: int = 0
    exact: int = 0
    within: int = 0
    over: int = 0
    sign_flipped: int = 0
    zero_against_nonzero: int = 0
    nan_against_number: int = 0
    inf_against_other: int = 0
    not_written: int = 0


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an output with everything one needs to reproduce its error by hand.

    ``ulp`` counts spacings of the output's dtype at the golden; ``used`` is the share of the tolerance.
    """

    index: tuple[int, ...]
    inputs: Mapping[str, Number]
    got: Number
    golden: Number
    absolute: float
    relative: float
    ulp: float
    used: float


@dataclass(frozen=True, slots=True)
class Branch:
    """How many elements took one branch of the operator."""

    name: str
    count: int


ULP_BINS = (0.5, 1.0, 2.0, 4.0, 16.0, 64.0, 256.0, 4096.0, 65536.0)
"""Upper edges of the bins of an ulp histogram; behind the last stand one bin for more and one for NaN and Inf."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """How another standard would judge an output; ``used`` is the share of its tolerance.

    ``warnings`` say where a permissive clause of it let something pass, a sentence each.
    """

    standard: str
    passed: bool
    used: float
    reason: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputReport:
    """One output judged.

    ``rule`` says the rule with its numbers in words, ``origin`` where it was chosen. ``used`` is the share of
    the tolerance that the worst element uses (1.0 is the edge). ``atol_needed`` and ``rtol_needed`` are the
    smallest that would let every element pass with the other left as it is; None where the rule has none.
    ``either`` counts ambiguous elements: at a threshold, where both branches are right. ``weak`` names cheap wrong
    answers that would pass too. ``floor`` is what the host result uses: no kernel can do better.
    ``floor_non_finite`` says that it has NaN or Inf where the golden has another value.
    ``warnings`` say where a permissive clause of the standard let something pass, a sentence each.
    ``standards`` say how each standard would judge, where that was asked for.

    A failed output has a ``diagnosis``, one sentence on what kind of wrong it is. ``mismatch_strip`` counts its
    wrong elements by cells of equal size along the flattened output, ``ulp_histogram`` the wrong elements that
    were looked at by the bins of :data:`ULP_BINS`. ``pairs`` are golden and got of elements spread evenly over
    the output, for a picture; complex outputs have none.
    """

    name: str
    dtype: str
    shape: Shape
    passed: bool
    reason: str
    standard: str
    rule: str
    origin: str
    used: float
    census: Census
    worst: tuple[Element, ...] = ()
    atol_needed: float | None = None
    rtol_needed: float | None = None
    either: int = 0
    weak: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    floor: float | None = None
    floor_non_finite: bool = False
    warnings: tuple[str, ...] = ()
    standards: tuple[Alternative, ...] = ()
    diagnosis: str = ""
    mismatch_strip: tuple[int, ...] = ()
    ulp_histogram: tuple[int, ...] = ()
    pairs: tuple[tuple[float, float], ...] = ()

    def __bool__(self) -> bool:
        """Whether it passed: ``assert judge(...)`` means what it says."""
        return self.passed


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome judged. ``reason`` is one sentence, empty for a plain PASS; ``notes`` do not change the word.

    ``unjudged`` names outputs that were there beside judged ones and were not judged.
    """

    word: VerdictKind
    reason: str = ""
    outputs: tuple[OutputReport, ...] = ()
    notes: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds spent on a case."""

    generate: float = 0.0
    run: float = 0.0
    golden: float = 0.0
    judge: float = 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """A case with its verdict and all that a report may want to say about it."""

    case: Case
    product: str
    backend: str
    verdict: Verdict
    status: int | None = None
    phase: Phase | None = None
    message: str = ""
    captured_output: str = ""
    log: tuple[str, ...] = ()
    served_by: str = ""
    inputs_sha256: str = ""
    repro: str = ""
    timings: Timings = field(default_factory=Timings)

    def __bool__(self) -> bool:
        """Whether the verdict is PASS: ``assert run_case(...)`` means what it says."""
        return self.verdict.word is VerdictKind.PASS


@dataclass(frozen=True, slots=True)
class HostTimes:
    """Seconds as the caller sees them: the first call of all, then medians of phase 1, launch, and a whole call
    up to the end of its synchronise. None where the backend has no such phase."""

    first: float | None = None
    phase1: float | None = None
    launch: float | None = None
    total: float | None = None
