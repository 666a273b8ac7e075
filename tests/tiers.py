"""Two tiers: `make test` runs what is not marked as slow, `make test-all` and `.ci/run` run everything.

`pytest.mark.slow` stands on a test or on one of its cases. The members of a registry are asked the same laws, so a
case may say which other member it is like, and the tier follows: of the laws of such a member one in `SHARE` stays in
`make test`, chosen by a checksum of member and law so that different members keep different laws. At least one law of
every member stays, and at least one member of every law.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest

#: One law in so many of a member that is like another.
SHARE = 16


def slow(*values: Any) -> Any:
    """Return a case that `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_among(values: Iterable[Any], *names: Any) -> list[Any]:
    """Return cases of which `make test` leaves out those that are named."""
    return [slow(value) if value in names else value for value in values]


def each_member(
    registry: str, cases: Mapping[str, Any], like: Mapping[str, str], slow: Iterable[str] = ()
) -> list[Any]:
    """Return one parameter for each member of a registry.

    Parameters
    ----------
    registry : str
        The registry, as its members are counted: the laws of a member may be in several modules.
    cases : mapping
        What the test is given, by the name of the member.
    like : mapping
        The members that are like another, and which.
    slow : iterable of str
        Members that `make test` does not ask.

    """

    def marks(name: str) -> list[Any]:
        member = pytest.mark.member(registry, name, like.get(name))
        return [member, pytest.mark.slow] if name in slow else [member]

    return [pytest.param(value, id=name, marks=marks(name)) for name, value in cases.items()]


class Law(NamedTuple):
    """One law, asked of one member."""

    law: str
    member: tuple[str, str]
    like: str | None
    #: `pytest.mark.slow` stands on it
    slow: bool

    @classmethod
    def of_item(cls, item: pytest.Item) -> "Law | None":
        """Return what a collected test asks of whom; None where it asks no member of a registry."""
        mark = item.get_closest_marker("member")
        if mark is None:
            return None
        registry, name, like = mark.args
        test, _, parameters = item.nodeid.partition("[")
        law = f"{test}[{parameters.replace(name, '', 1)}"
        return cls(law, (registry, name), like, item.get_closest_marker("slow") is not None)

    @property
    def checksum(self) -> int:
        """A number that is the same in every run, and another for another member or law."""
        return zlib.crc32(f"{self.member} {self.law}".encode())


#: Where pytest keeps all laws that were collected, and those of them that `make test` runs.
LAWS = pytest.StashKey[tuple[set[Law], set[Law]]]()


def quick_laws(laws: Iterable[Law]) -> set[Law]:
    """Return those that `make test` runs."""
    candidates = [each for each in laws if not each.slow]
    chosen = {each for each in candidates if each.like is None or each.checksum % SHARE == 0}
    for field in ("member", "law"):
        groups = defaultdict(list)
        for each in candidates:
            groups[getattr(each, field)].append(each)
        for group in groups.values():
            if not chosen.intersection(group):
                chosen.add(min(group, key=lambda each: each.checksum))
    return chosen
