"""What every adapter has to hold, tried on transcripts of the real agent.

Use it from a test::

    class TestMyAgent(Conformance):
        transcripts = Path(__file__).parent / "transcripts" / "myagent"

One file per case, below a folder per version of the agent; healthy cases belong to them. Record one
with ``LOOPGUARD_TRANSCRIPT=FILE loopguard run ...``, then settle what is expected of it by::

    python -m loopguard_cli.testing.conformance FILE...
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from loopguard_cli.agents import find
from loopguard_cli.agents.base import Adapter, Answer, BridgeAddress, Holding, Question, Setup, Shown
from loopguard_cli.agents.tools import GOAL_TOOLS, GUARD_TOOLS, LOOP_GUARD, goal_command
from loopguard_cli.agents.transcript import Step, Transcript, outgoing, play, read
from loopguard_cli.core.effects import Abort, AnswerGate, Effect, Prompt, Purpose, ReadSession, Record, Trim
from loopguard_cli.core.events import EffectSettled, Event, SessionRead, ToolAsked
from loopguard_cli.core.ids import NO_SESSION, EffectId, MessageId, PartId, SessionId
from loopguard_cli.core.records import LoopFound
from loopguard_cli.core.settings import GuardSettings, Permissions
from loopguard_cli.runtime.assemble import make_hub
from loopguard_cli.wire.ndjson import Decoder, Malformed

ADDRESS = BridgeAddress(
    token="token",
    unix="/nonexistent/agent",
    hooks="http://127.0.0.1:9/token/",
    hook_command=("/bin/sh", "/nonexistent/hook.sh", "/nonexistent", "1"),
    folder="/nonexistent",
)
"""Where nobody is; a recorded adapter only puts it into its launch plan."""

SEED = 20
MUTATIONS = 40
"""Of each message, in the test with unknown ones."""

GARBAGE = 200
"""Pieces of random bytes."""


def make(transcript: Transcript) -> Adapter:
    """The adapter of a transcript, launched."""
    header = transcript.header
    setup = Setup(
        argv=header.argv,
        tools=(*GUARD_TOOLS, *GOAL_TOOLS),
        commands=(LOOP_GUARD, goal_command()),
        directory="/project",
        interactive=header.interactive,
        permissions=Permissions(header.permissions),
        events=header.events,
    )
    adapter = find(header.agent).load().make(setup)
    adapter.launch({}, ADDRESS)
    return adapter


def findings(transcript: Transcript) -> tuple[str, ...]:
    """The rules that a guard finds in the events of a transcript, in order."""
    hub = make_hub(GuardSettings(), make(transcript).capabilities, salt=_salt(transcript))
    found: list[str] = []
    for step in transcript.steps:
        for event in step.events:
            effects = hub.receive(event, step.t)
            found += [
                e.record.rule for e in effects if isinstance(e, Record) and isinstance(e.record, LoopFound)
            ]
    return tuple(found)


class Conformance:
    """Subclass it, name the folder, and let pytest collect it."""

    transcripts: Path

    # --- what is recorded --------------------------------------------------------------------

    def test_there_are_transcripts_healthy_ones_included(self) -> None:
        recorded = [transcript.header.findings for _, transcript in self._all()]
        assert () in recorded, f"no healthy transcript below {self.transcripts}"
        assert None not in recorded, "settle what is expected first"

    def test_the_same_messages_mean_the_same_events_and_orders(self) -> None:
        for path, transcript in self._all():
            adapter = make(transcript)
            for number, step in enumerate(transcript.steps, 2):
                answer = play(adapter, step)
                assert answer.events == step.events or step.call == "relaunch", f"{path}:{number}"
                orders = tuple(outgoing(order) for order in answer.orders)
                assert orders == step.orders or step.call == "relaunch", f"{path}:{number}"

    def test_the_guard_finds_what_is_expected(self) -> None:
        for path, transcript in self._all():
            assert findings(transcript) == transcript.header.findings, path

    # --- promises about effects --------------------------------------------------------------

    def test_a_gate_is_answered_exactly_once(self) -> None:
        for path, transcript in self._all():
            for end, step in enumerate(transcript.steps, 1):
                for asked in step.events:
                    if isinstance(asked, ToolAsked):
                        for allow in (True, False):
                            self._answer(path, transcript, end, asked, allow=allow)

    def test_abort_prompt_and_read_settle_exactly_once(self) -> None:
        for path, transcript in self._all():
            session = _session(transcript)
            for end in _some(range(len(transcript.steps))):
                adapter = make(transcript)
                events = [*_replay(adapter, transcript.steps[:end])]
                effects = _effects(session, prompted=_takes_prompts(adapter))
                for effect in effects:
                    events += adapter.carry_out(effect).events
                events += _replay(adapter, transcript.steps[end:])
                events += adapter.exited(0)
                settled = [e.effect for e in events if isinstance(e, EffectSettled | SessionRead)]
                for effect in effects:
                    assert settled.count(_id(effect)) == 1, (
                        f"{path}: {type(effect).__name__} after {end} steps"
                    )

    # --- promises about what may come --------------------------------------------------------

    def test_messages_of_another_version_are_never_an_error(self) -> None:
        chance = random.Random(SEED)
        for _, transcript in self._all():
            for end in _some(range(len(transcript.steps))):
                step = transcript.steps[end]
                if step.call not in ("receive", "heard", "called"):
                    continue
                for _ in range(MUTATIONS):
                    adapter = make(transcript)
                    _replay(adapter, transcript.steps[max(0, end - 5) : end])
                    changed = _mutated(step.args[-1], chance)
                    try:
                        answer = play(adapter, msgspec.structs.replace(step, args=(*step.args[:-1], changed)))
                    except msgspec.ValidationError:
                        continue  # the decoder in front of the adapter turns these away
                    assert all(isinstance(event, Event) for event in answer.events)

    def test_random_bytes_are_counted_and_never_an_error(self) -> None:
        chance = random.Random(SEED)
        for _, transcript in self._all():
            adapter: Any = make(transcript)
            for kind in filter(None, (getattr(adapter, "speaks", None), adapter.messages)):
                decoder: Decoder[Any] = Decoder(kind, limit=1000)
                for _ in range(GARBAGE):
                    for message in decoder.feed(chance.randbytes(chance.randrange(1, 2000)) + b"\n"):
                        assert isinstance(message, Malformed)
            if hasattr(adapter, "printed"):
                for _ in range(GARBAGE):
                    assert isinstance(adapter.printed(chance.randbytes(chance.randrange(1, 2000))), Answer)

    # --- inside ------------------------------------------------------------------------------

    def _all(self) -> Iterator[tuple[Path, Transcript]]:
        for path in sorted(self.transcripts.rglob("*.jsonl")):
            yield path, read(path.read_bytes().splitlines())

    @staticmethod
    def _answer(path: Path, transcript: Transcript, end: int, asked: ToolAsked, *, allow: bool) -> None:
        adapter = make(transcript)
        _replay(adapter, transcript.steps[:end])
        effect = AnswerGate(session=asked.session, request=asked.request, allow=allow, text="no")
        first = [order for order in adapter.carry_out(effect).orders if not isinstance(order, Shown)]
        # The gate lets it pass, and the agent's own question is still to be decided.
        again = (
            [] if any(isinstance(order, Question) for order in first) else adapter.carry_out(effect).orders
        )
        assert len(first) == 1, f"{path}: {asked.request}"
        assert not again, f"{path}: {asked.request} was answered twice"


def _replay(adapter: Adapter, steps: Sequence[Step]) -> list[Event]:
    return [event for step in steps for event in play(adapter, step).events]


def _salt(transcript: Transcript) -> str:
    """What made the effect ids of the recorded run, so that its effects are recognised as the guard's own."""
    effects = [step.args[0] for step in transcript.steps if step.call == "carry_out"]
    abort = next((effect["effect"] for effect in effects if effect.get("do") == "abort"), "")
    return str(abort).removeprefix("lg_").rpartition("_")[0]


def _session(transcript: Transcript) -> SessionId:
    sessions = (event.session for step in transcript.steps for event in step.events if event.session)
    return next(sessions, NO_SESSION)


def _takes_prompts(adapter: Adapter) -> bool:
    """A prompt is for the process that runs, not for another start."""
    held = isinstance(adapter, Holding) and adapter.holding
    return held or not adapter.capabilities.respawn


def _effects(session: SessionId, *, prompted: bool) -> list[Effect]:
    effects: list[Effect] = [
        Abort(session=session, effect=EffectId("e-abort")),
        ReadSession(session=session, effect=EffectId("e-read")),
        Trim(
            session=session,
            effect=EffectId("e-trim"),
            message=MessageId("m"),
            part=PartId("p"),
            keep_chars=1,
        ),
    ]
    if prompted:
        text, purpose = "Go on.", Purpose.RECOVERY
        effects.append(Prompt(session=session, effect=EffectId("e-prompt"), text=text, purpose=purpose))
    return effects


def _id(effect: Effect) -> EffectId:
    return cast("EffectId", cast("Any", effect).effect)


def _some(places: range, most: int = 60) -> Sequence[int]:
    """Some of the places, evenly; all if they are few."""
    return places[:: max(1, len(places) // most)]


_STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e300,
    "",
    "new-thing",
    [],
    {},
    [None],
    {"x": {"y": []}},
    "\0\ud7ff",
)


def _mutated(value: Any, chance: random.Random) -> Any:
    """``value`` with one thing in it missing, added or of another kind."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        roll = chance.random()
        if roll < 0.15:
            return {name: item for name, item in value.items() if name != key}
        if roll < 0.25:
            return {**value, "brandNew": chance.choice(_STRANGE)}
        return {**value, key: _mutated(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.6:
        at = chance.randrange(len(value))
        return [*value[:at], _mutated(value[at], chance), *value[at + 1 :]]
    return chance.choice(_STRANGE)


def settle(path: Path, about: str = "") -> Transcript:
    """Write into the file at ``path`` what the adapter and the guard make of it at present."""
    given = read(path.read_bytes().splitlines())
    adapter = make(given)
    steps: list[Step] = []
    for step in given.steps:
        answer = play(adapter, step)
        orders = tuple(outgoing(order) for order in answer.orders)
        steps.append(msgspec.structs.replace(step, events=answer.events, orders=orders))
    done = Transcript(header=given.header, steps=tuple(steps))
    header = msgspec.structs.replace(given.header, findings=findings(done), about=about or given.header.about)
    lines = [msgspec.json.encode(item) for item in (header, *steps)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return Transcript(header=header, steps=tuple(steps))


def main(arguments: Sequence[str]) -> int:
    for name in arguments:
        settled = settle(Path(name))
        sys.stdout.write(
            f"{name}: {len(settled.steps)} steps, findings {list(settled.header.findings or ())}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
