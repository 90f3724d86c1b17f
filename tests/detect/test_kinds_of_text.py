# ruff: noqa: E501, UP031 -- a text a line reads best, and braces belong to the texts
"""Preset ``balanced`` on kinds of texts and answers: what loops, and honest siblings that look like it."""

from __future__ import annotations

import random

import pytest

from loopguard_cli.core.events import Channel
from loopguard_cli.core.findings import Action
from tests.detect.writing import Writer

TEXT, REASONING = Channel.TEXT, Channel.REASONING
NUDGE, ABORT = Action.NUDGE, Action.ABORT
Turn = tuple[str, ...]


def strongest(writer: Writer) -> Action:
    return max((finding.proposes for finding in writer.findings), default=Action.ALLOW)


def shuffled(seed: int, count: int, *sentences: str) -> str:
    draw = random.Random(seed)
    return " ".join(draw.choice(sentences) for _ in range(count))


LOOPS: dict[str, tuple[str, Channel, Action]] = {
    "a thought that takes itself back": (
        "Wait, but the index starts at one. Hmm, let me reconsider the loop bounds. " * 14,
        REASONING,
        ABORT,
    ),
    "five thoughts in any order": (
        shuffled(
            1,
            130,
            "Wait, maybe the lock is taken twice.",
            "Hmm, but the lock is released in finally.",
            "Actually, the lock could be taken twice.",
            "Let me check whether the lock is released.",
            "But the lock is taken in the caller.",
        ),
        REASONING,
        ABORT,
    ),
    "Korean": ("이제 파일을 수정하겠습니다. " * 40, TEXT, ABORT),
    "Arabic": ("سأقوم الآن بتعديل الملف. " * 40, TEXT, ABORT),
    "one object of JSON": (
        "```json\n[" + '{"id": 1, "name": "alpha", "tags": ["a", "b"]},\n' * 120,
        TEXT,
        ABORT,
    ),
    "one line of code": ("```c\n" + "    free(ptr);\n" * 300, TEXT, ABORT),
    "two lines of imports": (
        "```ts\n" + "import { A } from './a';\nimport { B } from './b';\n" * 100,
        TEXT,
        ABORT,
    ),
    "one statement": (
        "```sql\n" + "INSERT INTO users (name, role) VALUES ('admin', 'root');\n" * 120,
        TEXT,
        ABORT,
    ),
    "one item of a list": ("- Check the logs\n" * 200, TEXT, ABORT),
    "a verse that ends with a comma": (
        "Roll on, roll on, you restless sea,\nand bring my brother back to me,\n" * 40,
        TEXT,
        ABORT,
    ),
    "a counter on each line": (
        "".join(f"Attempt {at}: checking the module once more.\n" for at in range(60)),
        TEXT,
        NUDGE,
    ),
    "a counter without end": (
        "".join(f"Attempt {at}: checking the module once more.\n" for at in range(240)),
        TEXT,
        ABORT,
    ),
    "marks of the end of a text": ("<|endoftext|>" * 60, TEXT, ABORT),
    "turns of a template": ("<|im_end|>\n<|im_start|>assistant\n" * 40, TEXT, ABORT),
    "one closing tag": ("Hello.\n" + "</think>\n" * 60, TEXT, ABORT),
    "a mark among words of many scripts": ("の検索ですからвится<|ref|>の的话 und" * 60, TEXT, ABORT),
    "letters that are none": ("в\ufffdж\ufffdк\ufffd" * 200, TEXT, ABORT),
    "emoji made of several": ("\U0001f469\u200d\U0001f4bb " * 300, TEXT, ABORT),
}

HONEST: dict[str, tuple[str, Channel]] = {
    "a chess board": (
        '```html\n<div class="board">\n' + '<div class="cell"></div>\n' * 64 + "</div>\n```\n",
        TEXT,
    ),
    "ten by ten fields": ("```html\n" + '<td class="c"></td>\n' * 100 + "```\n", TEXT),
    "twelve closing tags": (
        "```html\n" + "".join("  " * (12 - at) + "</div>\n" for at in range(12)) + "```\n",
        TEXT,
    ),
    "closing tags in one column": ("<div>" * 12 + "x" + "</div>\n" * 12, TEXT),
    "nothing to tell of eighty services": ("".join(f"- svc-{at}: none\n" for at in range(80)), TEXT),
    "forty times none": ("- none\n" * 40, TEXT),
    "thirty equal objects": (
        "```json\n[" + ",\n".join('{"name": "x", "value": 0}' for _ in range(30)) + "]\n```",
        TEXT,
    ),
    "a wide row of a table": ("| a " * 30 + "|\n" + "|---" * 30 + "|\n" + "| n/a " * 30 + "|\n", TEXT),
    "open items": ("- [ ] TODO\n" * 20, TEXT),
    "fizz and buzz": (
        "\n".join("Fizz" * (at % 3 == 0) + "Buzz" * (at % 5 == 0) or str(at) for at in range(1, 101)),
        TEXT,
    ),
    "marks that are explained": (
        "Use `<|im_end|>` to end and `<|im_start|>` to begin; `</s>` closes. " * 2,
        TEXT,
    ),
    "imports": (
        "```ts\n"
        + "".join(f"import {{ {chr(65 + at % 26)}{at} }} from './m{at}';\n" for at in range(120))
        + "```",
        TEXT,
    ),
    "a reckoning": (
        "".join(
            f"Row {at}: {at * 7 % 9} plus {at * 5 % 8} makes {at * 7 % 9 + at * 5 % 8}.\n" for at in range(60)
        ),
        REASONING,
    ),
    "seeds of a database": (
        "```sql\n"
        + "".join(f"INSERT INTO users (id, role) VALUES ({at}, 'member');\n" for at in range(100))
        + "```",
        TEXT,
    ),
    "a matrix": ("```\n" + "1 0 0 0 0 1 0 0\n" * 64 + "```", TEXT),
}


@pytest.mark.parametrize("name", LOOPS)
def test_texts_that_loop(name: str) -> None:
    text, channel, least = LOOPS[name]
    writer = Writer()
    writer.write(*(text[at : at + 7] for at in range(0, len(text), 7)), channel=channel)
    writer.finish()
    assert strongest(writer) >= least


@pytest.mark.parametrize("name", HONEST)
def test_texts_that_do_not(name: str) -> None:
    text, channel = HONEST[name]
    writer = Writer()
    writer.write(*(text[at : at + 7] for at in range(0, len(text), 7)), channel=channel)
    writer.finish()
    assert writer.rules() == []


C = "continue"
ANSWERS: dict[str, list[tuple[str, ...]]] = {
    "identical": [(C, "I have finished the task. All files are updated.")] * 4,
    "two-alternating": [
        (C, a)
        for a in ("I will now run the tests and report.", "Running the tests now, one moment please.") * 4
    ],
    "reworded": [
        (C, a)
        for a in (
            "The task is complete and all tests pass now.",
            "All tests pass now and the task is complete.",
            "The task is done; all tests pass.",
            "Task complete, all of the tests pass now.",
            "The task is complete. Tests pass.",
            "Everything is complete and all tests pass now.",
            "The task is complete, all tests pass now!",
        )
    ],
    "question": [
        ("yes", a)
        for a in (
            "Shall I go ahead and delete the old table?",
            "Should I go ahead and delete the old table now?",
            "Do you want me to delete the old table?",
            "Shall I go ahead and delete the old table?",
            "Shall I delete the old table now?",
            "Do you want me to delete the old table now?",
        )
    ],
    "refusal": [
        (p, "I'm sorry, but I can't help with that request.")
        for p in ("fix the test", "please fix it", "why not?", "just do it", "do it")
    ],
    "call-json": [
        (C, 'Let me read it.\n```json\n{"name": "read", "arguments": {"path": "a%d.py"}}\n```' % i)
        for i in range(5)
    ],
    "call-xml": [
        (
            C,
            '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls %d</parameter>\n</invoke>\n</function_calls>'
            % i,
        )
        for i in range(5)
    ],
    "call-bash-fence": [(C, "I will run this:\n\n```bash\nnpm test\n```")] * 4,
    "same-code-diff-words": [
        (p, f"{a}\n\n```py\ndef add(a, b):\n    return a - b\n```")
        for p, a in (
            ("it is wrong", "Sorry! Fixed:"),
            ("still wrong", "You are right, here:"),
            ("no", "My mistake:"),
            ("look again", "Indeed, corrected:"),
            ("??", "Here is the final one:"),
        )
    ],
    "german": [("weiter", "Ich habe die Aufgabe abgeschlossen. Gibt es noch etwas?")] * 3,
    "done-acted": [
        (
            C,
            "The report has been generated and saved to report.md, as you asked for in the beginning.",
            "status",
        )
    ]
    * 5,
    "empty-promise": [
        (C, a)
        for a in (
            "I'll start implementing the parser now.",
            "Now I'll implement the parser.",
            "Let me implement the parser now.",
            "I'm going to implement the parser now.",
            "Starting the implementation of the parser now.",
            "OK, implementing the parser now.",
            "I'll now implement the parser.",
        )
    ],
    "goal-idle": [
        ("Go on with the goal.", "Nothing is left to do: the goal is reached and verified, see above.")
    ]
    * 3,
    "long-plan-again": [
        (
            C,
            "Plan:\n1. Read the config\n2. Change the loader\n3. Add tests\n4. Update docs\n\nI will start with step %d."
            % (i % 2 + 1),
        )
        for i in range(6)
    ],
}
WORK: dict[str, list[tuple[str, ...]]] = {
    "quiz": [
        ("next", f"Question {i}: {q}\nA) yes B) no C) maybe D) never")
        for i, q in enumerate(
            (
                "Which planet is largest?",
                "Who wrote Faust?",
                "What is 12 times 12?",
                "Which metal melts in the hand?",
                "When did the wall fall?",
                "Which ocean is deepest?",
                "Who painted Guernica?",
            )
        )
    ],
    "heartbeat": [("heartbeat", "HEARTBEAT_OK")] * 8,
    "thanks": [("thanks", "You're welcome!")] * 4,
    "story": [
        (C, a)
        for a in (
            "The door opened and a cold wind swept through the hall, carrying the smell of rain.",
            "Mara lifted the lantern; nothing moved but the dust on the stairs.",
            "Below, somebody had left a coat, still wet, and a key.",
            "She took the key and went on, counting steps until the last.",
            "At forty the wall ended, and with it her courage.",
            "Still, the lock turned as if it had been oiled that morning.",
        )
    ],
    "code-quoted": [
        (p, f"{a}\n\n```py\nx = [i for i in y]\n```\n\nThat is all there is to it.")
        for p, a in (
            ("what is this?", "A list comprehension:"),
            ("how fast?", "It is linear, as this shows:"),
            ("shorter?", "This cannot be shortened:"),
        )
    ],
    "approvals": [
        ("yes", a, "edit")
        for a in (
            "Done with part 1 of the work. Shall I go on?",
            "Done with part 2 of the work. Shall I go on?",
            "Done with part 3 of the work. Shall I go on?",
            "Done with part 4 of the work. Shall I go on?",
            "Done with part 5 of the work. Shall I go on?",
            "Done with part 6 of the work. Shall I go on?",
        )
    ],
    "translate": [
        (f"translate {w}", f"In German, this is {g}.")
        for w, g in (("dog", "Hund"), ("cat", "Katze"), ("sun", "Sonne"), ("tree", "Baum"), ("sea", "Meer"))
    ],
    "show-xml": [
        (p, a)
        for p, a in (
            (
                "how does hermes call tools?",
                'With markup:\n```\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n```',
            ),
            ("and llama?", 'With JSON:\n```\n{"name": "f", "parameters": {}}\n```'),
        )
    ],
    "again-code": [("again", "export const a = 1;\nexport const b = 2;\n")] * 4,
    "status-cron": [("status?", "All 12 services are up and no alert is open.", "status")] * 8,
    "name-ideas": [
        ("another", f"How about {w}? It is short, easy to spell and the domain is free.")
        for w in ["Lumo", "Veritas", "Kando", "Brisk", "Olive", "Tango"]
    ],
}


def hold(turns: list[tuple[str, ...]]) -> Writer:
    writer = Writer()
    for prompt, answer, *tools in turns:
        writer.turn(prompt, answer, tools=tools)
    return writer


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_go_round(name: str) -> None:
    assert strongest(hold(ANSWERS[name])) >= NUDGE


@pytest.mark.parametrize("name", WORK)
def test_answers_that_do_not(name: str) -> None:
    assert hold(WORK[name]).rules() == []


@pytest.mark.parametrize(
    "call", ['{"name": "read", "arguments": {"path": "a%d.py"}}', '<invoke name="ls">\n%d\n</invoke>']
)
def test_calls_that_are_only_written_end_the_turn(call: str) -> None:
    turns = [("continue", "Let me look.\n" + call % at) for at in range(5)]
    assert strongest(hold(turns[:2])) is Action.ALLOW
    assert strongest(hold(turns[:3])) is NUDGE
    assert strongest(hold(turns)) is ABORT
