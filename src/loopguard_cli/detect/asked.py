"""What a person asked for: so many runs of the same thing.

Source: honest sessions in which somebody wants ten runs of one flaky test, twenty samples of one
value, five benchmarks before and after. Whoever does as told is in no loop; the thresholds for equal
calls, rounds and errors give way until the number is reached. Numbers are read in the words of some
languages; "until it fails" and "a few times" license what they commonly mean.
"""

from __future__ import annotations

import re

MOST = 100
"""Repetitions that a message can license."""

UNTIL, SOME = 30, 8
"""Runs that "until it fails" and "several times" license."""

CONSIDERED = 4_000
"""Characters of a message that are read."""

_NUMBERS = {
    word: number
    for number, words in {
        3: "three drei trois tres tre",
        4: "four vier quatre cuatro quattro",
        5: "five fünf cinq cinco cinque",
        6: "six sechs seis sei",
        7: "seven sieben sept siete sette",
        8: "eight acht huit ocho otto",
        9: "nine neun neuf nueve nove",
        10: "ten zehn dix diez dieci",
        12: "twelve zwölf",
        15: "fifteen fünfzehn",
        20: "twenty zwanzig",
        30: "thirty dreißig",
        50: "fifty fünfzig",
        100: "hundred hundert",
    }.items()
    for word in words.split()
}
_RUNS = (
    r"times|x|runs?|rounds?|samples?|measurements?|readings?|iterations?|repetitions?|repeats|trials?|passes"
    r"|attempts?|tries|benchmarks?|benchmark runs?|executions?"
    r"|mal|läufe|durchläufe|messungen|proben|versuche|wiederholungen|fois|veces|volte|vezes|раз"
)
_COUNTED = re.compile(
    rf"(?<![\w.])(\d{{1,3}}|{'|'.join(_NUMBERS)})[\s-]*"
    rf"(?:(?:{_RUNS})(?!\w)|번|회|回|次|遍)(?!\s+(?:faster|slower|larger|smaller|bigger|more|less|as)\b)",
    re.IGNORECASE,
)
_TIMES = re.compile(r"(?<!\w)[x\u00d7]\s?(\d{1,3})\b", re.IGNORECASE)
_UNTIL = re.compile(
    r"\b(?:until|till|bis)\s+(?:it|one|you|the|we|er|es|sie|der|die|das)\b[^.\n]{0,40}?"
    r"\b(?:fail\w*|crash\w*|hang\w*|break\w*|flak\w*|reproduc\w*|deadlock\w*|fehlschl\w*|abst\w*|kracht)",
    re.IGNORECASE,
)
_SOME = re.compile(
    r"\b(?:several|a few|some|many|multiple)\s+(?:times|runs|samples|measurements|readings)\b"
    r"|\b(?:repeatedly|mehrmals|mehrfach|ein paar ?mal|plusieurs fois|varias veces)\b"
    r"|여러 ?번|何度か|多次|几次",
    re.IGNORECASE,
)


def times(text: str) -> int:
    """How often the same may be done at the word of this message; 0 if it says nothing of the kind."""
    text = text[:CONSIDERED]
    counts = [_number(match[1]) for match in _COUNTED.finditer(text)]
    counts += [int(match[1]) for match in _TIMES.finditer(text)]
    if _UNTIL.search(text):
        counts.append(UNTIL)
    if _SOME.search(text):
        counts.append(SOME)
    return min(max(counts, default=0), MOST)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]
