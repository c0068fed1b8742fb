"""What requests and responses share: fields, base classes, and the fields of the library's classes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from prefmover.ot.certificate import Certificate

Id = Annotated[
    str, Field(min_length=1, description="Id; integers are written as text.", examples=["alien-1979"])
]
WholeNumber = Annotated[
    int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)
]
"""A whole number; 10.0 is one in JSON."""

Count = Annotated[int, Field(ge=0)]
ItemId = Annotated[str, Field(description="Id of an item.", examples=["alien-1979"])]
UserId = Annotated[str, Field(description="Id of a user, or `guest`.", examples=["ada-b"])]
Title = Annotated[str, Field(description="Title and year of an item.", examples=["Alien (1979)"])]
ValueName = Literal["distance", "similarity"]
Combine = Literal["mean", "least"]
Tastes = Annotated[
    list[str], Field(description="Genres the user prefers more than others do.", examples=[["Horror"]])
]
NearerThan = Annotated[
    float | None, Field(description="Share of random pairs of users that are farther apart.", examples=[0.97])
]


class Response(BaseModel):
    """A part of a response. Ids that are integers become text."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class Request(BaseModel):
    """A part of a request: no conversion of types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Page(Response):
    """A part of a long list."""

    total: Count
    offset: Count
    limit: Count


class MeasureValue(Response):
    """The value of the model's measure for two users, under its name."""

    distance: float | None = Field(default=None, description="If the measure is a distance.")
    similarity: float | None = Field(default=None, description="If the measure is a similarity.")


LATER = {"Certificate": Certificate}  # names that the library imports for type checkers only
NAMED = {"user": UserId, "other": UserId, "label": Title, "title": Title}
NAMED |= dict.fromkeys(("item", "source", "target"), ItemId)
Out = TypeVar("Out", bound=Response)
_known: dict[type, type[Response]] = {}


def fields_of(kind: type, without: Collection[str] = ()) -> Callable[[type[Out]], type[Out]]:
    """Give a response the fields of a dataclass or named tuple, except those that it has itself.

    Ids become text. A field that holds objects of another class of the library gets its response.
    """

    def complete(response: type[Out]) -> type[Out]:
        texts, fields = _descriptions(kind), {}
        for name, hint in get_type_hints(kind, localns=LATER).items():
            if name not in response.model_fields and name not in without and name[0] != "_":
                described = Field(description=texts.get(name))
                fields[name] = (NAMED[name], ...) if name in NAMED else (_type(hint), described)
        made = create_model(response.__name__, __base__=response, __doc__=response.__doc__, **fields)  # type: ignore[call-overload]
        _known[kind] = made
        return made  # type: ignore[no-any-return]

    return complete


def _type(hint: Any) -> Any:
    """Return the type of a field in JSON for its type in the library."""
    inner = tuple(one for one in get_args(hint) if one is not Ellipsis)
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(map(_type, inner))]  # noqa: UP007
    if get_origin(hint) in (tuple, list, Sequence):
        return list[_type(inner[0])]  # type: ignore[misc]
    if isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "_fields")):
        if hint not in _known:
            about = {"__doc__": inspect.getdoc(hint).splitlines()[0]}  # type: ignore[union-attr]
            fields_of(hint)(type(f"{hint.__name__}Out", (Response,), about))
        return _known[hint]
    return str if hint is Any else None if hint is NoneType else hint


def _descriptions(kind: type) -> dict[str, str]:
    """Return the descriptions of attributes in docstrings, also those of base classes."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        _, _, section = inspect.cleandoc(one.__doc__ or "").partition("Attributes\n----------\n")
        for names, text in re.findall(r"^(\w[\w, ]*)\n((?: {4}.*\n?)+)", section, re.MULTILINE):
            plain = re.sub(r":\w+:`~?([^`]+)`", r"\1", " ".join(text.split())).replace("``", "`")
            plain = re.sub(r"\bNone\b", "null", plain)
            found |= dict.fromkeys(names.split(", "), plain)
    return found
