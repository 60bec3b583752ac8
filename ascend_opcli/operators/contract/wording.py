"""The rules of phase 1 in words: terms, conditions, and what a call that breaks one has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ascend_opcli.operators.arguments import Arguments
from ascend_opcli.operators.contract.rules import words_of
from ascend_opcli.operators.contract.terms import Condition, Term, Unknown, evaluate, names

_TERMS: Mapping[str, str] = {
    "dtype": "the dtype of {}",
    "rank": "the rank of {}",
    "shape": "the shape of {}",
    "numel": "the number of elements of {}",
    "size": "the length of {}",
    "value": "{}",
    "values": "{}",
    "dtype_value": "{}",
    "view_format": "the format of {}",
    "storage_format": "the format of {}",
    "original_format": "the format of {}",
}
_JOINTS: Mapping[str, str] = {
    "+": " + ",
    "-": " - ",
    "*": " * ",
    "%": " mod ",
    "join": " followed by ",
}
_COMPARE: Mapping[str, str] = {
    "==": "is",
    "!=": "is not",
    "<": "is below",
    ">": "is above",
    "<=": "is at most",
    ">=": "is at least",
}
_SAME: Mapping[str, tuple[str, str, str]] = {
    "same_dtype": ("dtype", "dtype", "dtypes"),
    "same_shape": ("shape", "shape", "shapes"),
    "same_rank": ("rank", "rank", "ranks"),
    "same_size": ("size", "length", "lengths"),
    "same_format": ("view_format", "format", "formats"),
    "same_storage_format": ("storage_format", "format", "formats"),
}


def term(found: Term) -> str:
    """``the rank of self``, ``axis 1 of out``; a plain value as itself."""
    if isinstance(found, bool):
        return str(found).lower()
    if not isinstance(found, list):
        return str(found) if found != "" else "empty"
    word = found[0]
    if word == "dim":
        return f"axis {term(found[2])} of {_name(found[1])}"
    if word in ("head", "tail"):
        which = "first" if word == "head" else "last"
        return f"the shape of {_name(found[1])} in its {which} axes ({term(found[2])})"
    if word in _JOINTS:
        return _JOINTS[word].join(term(part) for part in found[1:])
    if word in ("min", "max"):
        return f"the {'smaller' if word == 'min' else 'larger'} of {words_of([term(p) for p in found[1:]])}"
    if word == "promote":
        return f"the dtype that {words_of(_leaves(found))} promote to"
    if word == "broadcast":
        return f"the shape that {words_of(_leaves(found))} broadcast to"
    if word == "shape_list":
        return f"[{', '.join(map(term, found[1:]))}]"
    return _TERMS[word].format(_name(found[1]))


def _name(name: str) -> str:
    bare, bracket, index = name.partition("[")
    if not bracket:
        return name
    return f"every member of {bare}" if index == "]" else f"member {index[:-1]} of {bare}"


def _leaves(found: Term) -> list[str]:
    """The parts that one operation joins, nested ones of its kind too."""
    parts: list[str] = []
    for part in found[1:]:
        if isinstance(part, list) and part[0] == found[0]:
            parts += _leaves(part)
        elif isinstance(part, list) and part[0] in ("dtype", "shape"):
            parts.append(_name(part[1]))
        else:
            parts.append(term(part))
    return list(dict.fromkeys(parts))


def _any(words: Sequence[Any]) -> str:
    said = [term(w) for w in words]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}" if said else "nothing"


def _castable(source: Term, target: Term) -> str:
    return f"{term(source)} can be cast to {term(target)}"


_CONDITIONS: Mapping[str, Callable[..., str]] = {
    "null": lambda name: f"{_name(name)} is null",
    "notnull": lambda name: f"{_name(name)} is not null",
    "not_all_null": lambda *found: f"{_any(found)} is given",
    "never": lambda: "no call is accepted",
    "empty": lambda name: f"{_name(name)} is empty",
    "not_empty": lambda name: f"{_name(name)} is not empty",
    "true": lambda t: f"{term(t)} is true",
    "false": lambda t: f"{term(t)} is false",
    "in_terms": lambda t, terms: f"{term(t)} is {_any(terms)}",
    "in": lambda t, words: f"{term(t)} is {_any(words)}",
    "notin": lambda t, words: f"{term(t)} is not {_any(words)}",
    "private": lambda t: f"{term(t)} is private",
    "not_private": lambda t: f"{term(t)} is not private",
    "castable": _castable,
    "not_castable": lambda a, b: f"{term(a)} cannot be cast to {term(b)}",
    "broadcastable": lambda a, b: f"{words_of(_leaves(['', a, b]))} broadcast",
    "not_broadcastable": lambda a, b: f"{words_of(_leaves(['', a, b]))} do not broadcast",
    "promotable": lambda a, b: f"{words_of(_leaves(['promote', a, b]))} promote to a dtype",
    "shape_of": lambda name, shape: f"the shape of {_name(name)} is {term(shape)}",
}


def condition(found: Condition) -> str:
    """A condition in words: ``self and out have the same dtype``."""
    word = found[0]
    if word in _COMPARE:
        return f"{term(found[1])} {_COMPARE[word]} {term(found[2])}"
    if word in _SAME:
        return f"{_name(found[1])} and {_name(found[2])} have the same {_SAME[word][1]}"
    return _CONDITIONS[word](*found[1:])


def rule(found: Condition, when: Sequence[Condition]) -> str:
    """A rule in words, with the conditions under which it counts."""
    return condition(found) + _where(when)


def _where(when: Sequence[Condition]) -> str:
    return f", where {words_of([condition(c) for c in when])}" if when else ""


def broken(found: Condition, when: Sequence[Condition], arguments: Arguments) -> str:
    """One sentence that says how a call breaks a rule, with what it has."""
    return _broken(found, arguments) + _where(when)


def _broken(found: Condition, arguments: Arguments) -> str:
    word = found[0]
    if word in ("null", "notnull"):
        return f"{_name(found[1])} is {'not null' if word == 'null' else 'null'}"
    if word == "not_all_null":
        return f"{words_of(found[1:])} are all null"
    if word == "never":
        return "the operator refuses every call on this product"
    if word in ("empty", "not_empty"):
        return f"{_name(found[1])} is {'empty' if word == 'not_empty' else 'not empty'}"
    if word in _SAME:
        read, _, plural = _SAME[word]
        got = [_shown([read, name], arguments) for name in found[1:]]
        return f"{_name(found[1])} and {_name(found[2])} have different {plural} ({got[0]} and {got[1]})"
    if word == "shape_of":
        own, wanted = _shown(["shape", found[1]], arguments), _shown(found[2], arguments)
        return f"{_name(found[1])} has the shape {own}, {term(found[2])} is {wanted}"
    if word in ("in", "notin", "in_terms"):
        accepted = "not accepted" if word == "notin" else "accepted"
        return f"{_subject(found[1])} {_shown(found[1], arguments)}, {accepted} {_are(found[2])}"
    if word in ("<=", ">=") and isinstance(found[1], list) and found[1][0] == "rank" and _plain(found[2]):
        bound = f"at most {found[2]} is accepted" if word == "<=" else f"at least {found[2]} is needed"
        return f"{_name(found[1][1])} has rank {_shown(found[1], arguments)}, {bound}"
    if word == "not_private":
        return f"{_name(found[1][1])} has the private format {_shown(found[1], arguments)}"
    if word in ("broadcastable", "promotable"):
        what = "the shapes" if word == "broadcastable" else "the dtypes"
        how = "broadcast" if word == "broadcastable" else "promote to a common one"
        each = [f"{name} {_shown([what[4:-1], name], arguments)}" for name in names(list(found))]
        return f"{what} do not {how}: {', '.join(each)}"
    if word == "castable":
        source, target = (_shown(t, arguments) for t in found[1:])
        return f"{_subject(found[1])} {source}, which cannot be cast to {_with(found[2], target)}"
    if word in _COMPARE and isinstance(found[1], list):
        wanted = term(found[2])
        value = f" ({_shown(found[2], arguments)})" if isinstance(found[2], list) else ""
        must = "it must be" if word != "!=" else "it must not be"
        bound = {"<": "below ", ">": "above ", "<=": "at most ", ">=": "at least "}.get(word, "")
        return f"{term(found[1])} is {_shown(found[1], arguments)}, {must} {bound}{wanted}{value}"
    got = [f"{term(t)} is {_shown(t, arguments)}" for t in found[1:] if isinstance(t, list)]
    return f"it must be that {condition(found)}" + (f" ({', '.join(got)})" if got else "")


def _plain(found: Term) -> bool:
    return not isinstance(found, list)


def _are(words: Sequence[Any]) -> str:
    return f"{'is' if len(words) == 1 else 'are'} {words_of([term(w) for w in words])}"


def _subject(found: Term) -> str:
    """``self is`` of a dtype, ``self has rank`` of a rank, else the term itself."""
    if isinstance(found, list) and found[0] in ("dtype", "dtype_value"):
        return f"{_name(found[1])} is"
    if isinstance(found, list) and found[0] == "rank":
        return f"{_name(found[1])} has rank"
    if isinstance(found, list) and found[0].endswith("format"):
        return f"{_name(found[1])} has the format"
    return f"{term(found)} is"


def _with(found: Term, value: str) -> str:
    if isinstance(found, list) and found[0] == "dtype":
        return f"{_name(found[1])}'s {value}"
    return value if _plain(found) else f"{term(found)}, {value}"


def _shown(found: Term, arguments: Arguments) -> str:
    """What a term is in this call."""
    try:
        value = evaluate(found, arguments)
    except Unknown:
        return "unknown"
    if isinstance(value, tuple):
        return str(list(value))
    return term(value)
