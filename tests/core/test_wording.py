"""Both languages say the same things, with the same places for facts."""

from __future__ import annotations

import string
from types import ModuleType
from typing import Any

import pytest

from loopguard_cli.core.findings import Action, Cost, Finding
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import BLOCKED_TAG, Wording, english, korean


def fields(template: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(template) if name is not None)


def catalogue(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name.isupper()}


@pytest.mark.parametrize("name", sorted(catalogue(english)))
def test_the_catalogues_are_level(name: str) -> None:
    here, there = catalogue(english)[name], catalogue(korean)[name]
    if isinstance(here, dict):
        assert here.keys() == there.keys()
        pairs = [(here[k], there[k]) for k in here]
    else:
        pairs = [(here, there)]
    for one, other in pairs:
        assert fields(one) == fields(other)
        assert other != ""


def test_no_text_of_one_catalogue_is_missing_in_the_other() -> None:
    assert catalogue(english).keys() == catalogue(korean).keys()


def finding(**more: Any) -> Finding:
    return Finding(
        rule="repeat-call",
        proposes=Action.BLOCK,
        identity="x",
        count=3,
        events=(1, 2, 3),
        tool="bash",
        **more,
    )


@pytest.mark.parametrize("locale", list(Locale))
def test_a_refusal_names_call_count_window_and_what_is_allowed(locale: Locale) -> None:
    text = Wording(locale).blocked(finding(facts={"window_seconds": 60.0}))
    assert text.startswith(BLOCKED_TAG)
    for needed in ("bash", "3", "60", "loop_decide"):
        assert needed in text


def test_the_cost_is_told_when_there_is_one() -> None:
    said = Wording(Locale.EN).explain(finding(cost=Cost(calls=3, tokens=1200, seconds=12.4)))
    assert said.endswith("So far: 3 calls, 1,200 tokens, 12 s.")
    assert "So far" not in Wording(Locale.EN).explain(finding())
    once = finding(cost=Cost(calls=1, tokens=54_321))
    assert Wording(Locale.EN).explain(once).endswith("So far: 1 call, 54,321 tokens.")
    assert Wording(Locale.KO).explain(once).endswith("호출 1회, 토큰 54,321개.")


@pytest.mark.parametrize("locale", list(Locale))
def test_a_cap_is_said_in_digits(locale: Locale) -> None:
    assert "2,000,000" in Wording(locale).capped("tokens", 2e6)
    assert "0.5" in Wording(locale).capped("cost", 0.5)


def test_an_unknown_rule_or_fact_still_makes_a_sentence() -> None:
    other = Finding(rule="third-party", proposes=Action.WARN, identity="x", count=4, events=())
    assert Wording(Locale.EN).explain(other) == "4 repetitions."
    assert "?" in Wording(Locale.EN).explain(finding())


def test_what_is_counted_once_is_one() -> None:
    wording = Wording(Locale.EN)
    assert "1 continuation;" in wording.exhausted(1)
    assert "2 continuations;" in wording.exhausted(2)
    assert wording.unparsed(1, "x").startswith("1 message of")
    assert wording.unparsed(1000, "x").startswith("1,000 messages of")
    assert "1,000개" in Wording(Locale.KO).unparsed(1000, "x")
