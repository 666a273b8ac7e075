"""`make test` asks every member of a registry at least one law, and every law of at least one member."""

import pytest

from contracts import estimators, families, models
from kullback.estimators import REGISTRY
from tiers import LAWS, SHARE, Law, quick_laws


def test_every_member_has_a_law_and_every_law_a_member(request):
    """Of all that was collected: in a run of a part of the tests, of that part."""
    laws, quick = request.config.stash[LAWS]
    for field in ("member", "law"):
        assert {getattr(each, field) for each in laws} == {getattr(each, field) for each in quick}, field


def ask(laws, members, like=None, slow=()):
    return [Law(law, ("letters", name), like, (law, name) in slow) for law in laws for name in members]


def test_members_that_are_like_others_keep_some_laws():
    laws = [f"law {place}" for place in range(10 * SHARE)]
    all_laws = ask(laws, ["a"]) + ask(laws, "bcdef", like="a")
    quick = quick_laws(all_laws)
    assert {each for each in all_laws if each.like is None} <= quick
    kept = [{each.law for each in quick if each.member[1] == name} for name in "bcdef"]
    assert all(1 <= len(some) <= 20 for some in kept)
    assert len(set(map(frozenset, kept))) == 5  # not the same ones
    assert quick_laws(all_laws) == quick  # nor others in the next run


def test_a_member_keeps_a_law_and_a_law_a_member():
    alone, others = ask(["one"], "a", like="z"), ask(["one", "two"], "bc", like="z")
    quick = quick_laws(alone + others)
    assert {each.member[1] for each in quick} == set("abc")
    assert {each.law for each in quick} == {"one", "two"}


def test_what_is_marked_as_slow_stays_slow():
    quick = quick_laws(ask(["one", "two"], "ab", slow={("one", "a"), ("two", "b")}))
    assert {(each.law, each.member[1]) for each in quick} == {("one", "b"), ("two", "a")}


@pytest.mark.parametrize(
    ("like", "names"),
    [
        (families.LIKE, {families.name_of(key) for key in families.CASES}),
        ({name: case.like for name, case in models.CASES.items() if case.like}, set(models.CASES)),
        (estimators.LIKE, set(REGISTRY)),
    ],
    ids=["families", "models", "estimators"],
)
def test_what_a_member_is_like_is_asked_everything(like, names):
    assert like.keys() | set(like.values()) <= names
    assert not like.keys() & set(like.values())
