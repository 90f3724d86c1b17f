"""The page: whole, self-contained, harmless whatever the session said, and readable by everybody."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_cli.report import Alarm, Budget, Curve, Goal, Item, Kind, Report, Turn, render
from tests.report.reading import Page

START = 1_800_000_000.0
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\x00"


def a_report(said: str = "said", **more: object) -> Report:
    """Everything a report can hold, each text being ``said``."""
    items = [Item(event=n, time=START + n, kind=kind, title=said, detail=said) for n, kind in enumerate(Kind)]
    items[0].content = (("arguments", said), ("result", said))
    items[0].alarm = 1
    fields: dict[str, object] = {
        "title": said,
        "agent": said,
        "version": said,
        "project": said,
        "source": said,
        "started": START,
        "ended": START + 100,
        "notes": [said],
        "sessions": ["a", "b"],
        "calls": 1,
        "tokens": 12_345,
        "cost": 0.5,
        "alarms": [
            Alarm(
                number=1,
                rule=said,
                action="block",
                time=START + 3,
                event=3,
                explanation=said,
                evidence=(0, 3, 99),
                facts={said: said},
                note=said,
                repeats=2,
            )
        ],
        "goals": [
            Goal(
                objective=said,
                state="active",
                reason=said,
                checks=(said,),
                budgets=[
                    Budget(name=said, used=3, limit=10),
                    Budget(name="cost", used=0.2, limit=1, unit="$"),
                ],
            )
        ],
        "curves": [
            Curve(name="Tokens", unit="tokens", points=[(START, 0.0), (START + 9, 12_345.0)]),
            Curve(name="Cost", unit="$", points=[(START, 0.0), (START + 9, 0.5)]),
        ],
        "turns": [
            Turn(number=1, time=START, ended=START + 50, who="person", session="a", text=said, items=items),
            Turn(number=2, time=START + 60, ended=START + 99, who="loopguard", session="b"),
        ],
    }
    return Report(**{**fields, **more})  # type: ignore[arg-type]


def test_the_page_is_whole_and_its_links_lead_somewhere() -> None:
    page = Page(render(a_report()))
    assert max(page.ids().values()) == 1
    targets = {link.removeprefix("#") for link in page.links()}
    assert targets <= set(page.ids())
    assert {"alarm-1", "event-0"} <= targets
    # Events that have no line of their own are named, not linked.
    assert "event-99" not in targets
    assert "event 99" in page.text


def test_it_loads_nothing() -> None:
    text = render(a_report())
    page = Page(text)
    assert not re.search(r"(?:src|href|action|url\()\s*=?\s*[\"']?(?:https?:|//|data:)", text)
    (policy,) = [
        meta["content"] for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert "default-src 'none'" in policy
    assert not page.of("link")
    assert not page.of("iframe")


def test_what_the_session_said_is_only_ever_text() -> None:
    text = render(a_report(HOSTILE))
    page = Page(text)
    assert len(page.of("script")) == 1
    assert not page.of("img")
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "alert(1)" in page.text  # it is shown


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text_makes_a_whole_page(said: str) -> None:
    page = Page(render(a_report(said)))
    assert max(page.ids().values()) == 1


def test_it_can_be_read_aloud_and_by_keyboard() -> None:
    page = Page(render(a_report()))
    assert page.of("html")[0]["lang"] == "en"
    for drawing in page.of("svg"):
        assert drawing["role"] == "img"
        assert len(drawing["aria-label"]) > 10
    for meter in (attrs for _, attrs in page.elements if attrs.get("role") == "meter"):
        assert {"aria-label", "aria-valuemin", "aria-valuemax", "aria-valuenow"} <= set(meter)
    labelled = {attrs["aria-labelledby"] for attrs in page.of("section")}
    assert labelled <= set(page.ids())
    assert page.of("a")[0]["href"] == "#timeline"  # past the drawings
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    # Colour is never the only sign: each item says its kind.
    kinds = [attrs for _, attrs in page.elements if attrs.get("class") == "kind"]
    assert len(kinds) == len(Kind)


def test_light_dark_and_paper() -> None:
    style = render(a_report()).partition("<style>")[2].partition("</style>")[0]
    assert "@media (prefers-color-scheme: dark)" in style
    assert "@media print" in style
    assert "@media (prefers-reduced-motion: reduce)" in style


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "paper"])
@pytest.mark.parametrize("ink", ["ink", "quiet", "call", "bad", "warn", "good", "goal"])
def test_text_stands_out_from_what_it_is_on(scheme: int, ink: str) -> None:
    """At least 4.5 to 1 (WCAG 2.2, level AA)."""
    schemes = re.findall(r":root \{([^}]*)\}", render(a_report()))
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6}|#[0-9a-f]{3})\b", schemes[scheme]))
    colours = {
        name: one if len(one) == 7 else "#" + "".join(c * 2 for c in one[1:]) for name, one in colours.items()
    }
    soft = {"bad": "bad-soft", "warn": "warn-soft", "good": "good-soft", "ink": "bad-soft"}
    for ground in ("paper", "card", soft.get(ink, "card")):
        dark, light = sorted((_luminance(colours[ink]), _luminance(colours[ground])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_a_session_without_a_loop_says_so() -> None:
    page = Page(render(a_report(alarms=[], goals=[], curves=[])))
    assert "No loop was found." in page.text
    assert "Goals" not in page.text


def an_alarm(number: int, action: str) -> Alarm:
    return Alarm(number=number, rule="r", action=action, time=START, event=number, explanation="")


def test_hints_are_not_counted_as_loops() -> None:
    shown = Page(render(a_report(alarms=[an_alarm(1, "nudge")]))).text
    assert "0loops found" in shown
    assert "1hint" in shown
    assert "1hints" not in shown


def test_each_kind_of_alarm_is_called_what_it_is_and_counted_by_itself() -> None:
    actions = ["block", "nudge", "abort", "warn", "nudge"]
    alarms = [an_alarm(number, action) for number, action in enumerate(actions, 1)]
    items = [
        Item(event=n, time=START + n, kind=Kind.CALL, title="read", alarm=n)
        for n in range(1, len(alarms) + 1)
    ]
    turn = Turn(number=1, time=START, ended=START + 9, who="person", items=items)
    text = render(a_report(alarms=alarms, turns=[turn]))
    assert re.findall(r'id="alarm-(\d)"><h3><b>([^<]*)</b>', text) == [
        ("1", "Loop 1"), ("2", "Hint 1"), ("3", "Loop 2"), ("4", "Warning 1"), ("5", "Hint 2"),
    ]  # fmt: skip
    # What leads to them, in the timeline and on the curve, calls them the same.
    why = re.findall(r'class="why" href="#alarm-(\d)">([^<]*)<', text)
    assert why == [("1", "loop 1"), ("2", "hint 1"), ("3", "loop 2"), ("4", "warning 1"), ("5", "hint 2")]
    assert re.findall(r'<circle class="(\w+)"[^>]*/><title>[\d:]+ (\w+ \d)', text)[:3] == [
        ("alarm", "loop 1"), ("nudge", "hint 1"), ("alarm", "loop 2"),
    ]  # fmt: skip
    assert "Loops and hints and warnings, and why" in Page(text).text


def test_the_legend_names_what_is_drawn_and_nothing_else() -> None:
    calls = [Item(event=1, time=START, kind=Kind.CALL, title="read", ok=True)]
    quiet = [Turn(number=1, time=START, ended=START + 9, who="person", items=calls)]

    def legend(**more: object) -> list[str]:
        told = render(a_report(**more)).partition('<p class="legend">')[2].partition("</p>")[0]
        return re.findall(r"</i>([^<]*)</span>", told)

    assert legend(turns=quiet) == ["tool call", "a person"]
    assert legend()[-5:] == ["cut off", "continued", "goal", "error", "a person"]


def test_going_on_after_a_loop_and_for_a_goal_are_told_apart() -> None:
    shown = Page(render(a_report(continued=2, pursued=31))).text
    assert "2continued after a loop" in shown
    assert "31continued for a goal" in shown
    assert "for a goal" not in Page(render(a_report(continued=2))).text


def test_a_session_that_ran_without_us_is_told_as_what_would_have_been() -> None:
    page = Page(render(a_report(hypothetical=True)))
    assert "call would have been blocked" in page.text
    assert "ran without loopguard" in page.text
    assert "would have been" not in Page(render(a_report())).text


def test_content_is_announced_with_what_was_blanked() -> None:
    assert "blanked (7 pieces)" in Page(render(a_report(has_content=True, redacted=7))).text
    assert "blanked" not in Page(render(a_report())).text


def test_uneventful_stretches_are_folded_but_not_what_led_to_a_mark() -> None:
    calls = [Item(event=n, time=START + n, kind=Kind.CALL, title=f"read {n}", ok=True) for n in range(40)]
    mark = Item(event=40, time=START + 40, kind=Kind.ALARM, title="repeat-call", alarm=1)
    turn = Turn(number=1, time=START, ended=START + 41, who="person", items=[*calls, mark, *calls[:5]])
    text = render(a_report(turns=[turn]))
    assert Page(text)
    fold = text.partition('<li class="fold">')[2].partition("</details></li>")[0]
    assert "34 calls, nothing unusual" in fold
    assert "read 36<" in fold
    assert "read 37<" not in fold
    assert "read 39<" in text


def test_it_stays_small_for_long_sessions() -> None:
    calls = [
        Item(event=n, time=START + n, kind=Kind.CALL, title="read 1a2b3c4d", ok=True) for n in range(20_000)
    ]
    turn = Turn(number=1, time=START, ended=START + 20_000, who="person", items=calls)
    page = render(a_report(turns=[turn], ended=START + 20_000))
    assert len(page) < 6_000_000
    assert page.count("<rect") < 2_000
