"""What ``loop_check`` and ``loop_decide`` answer, by code, in both languages."""

from __future__ import annotations

from typing import Any

from loopguard_cli.core.settings import Locale

_ENGLISH: dict[str, str] = {
    "clear": "{tool} with these arguments counts {count} of {threshold} calls and is not blocked. "
    "This check grants nothing.",
    "blocked": "{tool} with these arguments is blocked after {count} calls. Only loop_decide with decision "
    '"continue" allows it again; everything else runs normally. This check grants nothing.',
    "granted": "{tool} with these arguments has an unused authorisation: its next call starts a fresh count.",
    "continue": "Noted. The next call of {tool} with exactly these arguments starts a fresh count and runs; "
    "nothing else changes.",
    "change": "Noted. {tool} with these arguments is a new approach; no counter and no block was changed.",
    "stop": "Noted. The blocked call is given up and stays blocked; other work goes on freely.",
    "bad_decision": "decision must be one of: continue, change, stop.",
    "too_short": "{field} must be at least {minimum} characters of concrete explanation.",
    "no_tool": "nextTool (toolName for a check) must name the exact tool.",
    "bad_args": "argsJson must be a JSON object encoded in a string.",
    "not_new": "{tool} with exactly these arguments was already attempted. Choose a call that is new, or decide "
    '"continue" to justify a retry.',
    "nothing_blocked": "Noted. Nothing was blocked.",
}

_KOREAN: dict[str, str] = {
    "clear": "이 인수의 {tool} 호출은 {threshold}회 중 {count}회로 집계되었으며 차단되지 않았습니다. "
    "이 확인은 아무것도 허용하지 않습니다.",
    "blocked": "이 인수의 {tool} 호출은 {count}회 후 차단되었습니다. loop_decide의 decision "
    '"continue"로만 다시 허용되며, 다른 호출은 정상적으로 실행됩니다. 이 확인은 아무것도 허용하지 않습니다.',
    "granted": "이 인수의 {tool} 호출에는 아직 쓰지 않은 허가가 있습니다. 다음 호출부터 새로 집계합니다.",
    "continue": "기록했습니다. 정확히 이 인수의 다음 {tool} 호출은 새로 집계되어 실행됩니다. 다른 것은 바뀌지 않습니다.",
    "change": "기록했습니다. 이 인수의 {tool} 호출은 새로운 접근입니다. 집계나 차단은 바뀌지 않았습니다.",
    "stop": "기록했습니다. 차단된 호출을 포기하며 차단은 유지됩니다. 다른 작업은 자유롭게 계속할 수 있습니다.",
    "bad_decision": "decision은 continue, change, stop 중 하나여야 합니다.",
    "too_short": "{field}은(는) 구체적인 설명으로 {minimum}자 이상이어야 합니다.",
    "no_tool": "nextTool(확인에서는 toolName)에 정확한 도구 이름이 필요합니다.",
    "bad_args": "argsJson은 문자열로 인코딩된 JSON 객체여야 합니다.",
    "not_new": "정확히 이 인수의 {tool} 호출은 이미 시도되었습니다. 새로운 호출을 고르거나 "
    '"continue"로 재시도의 이유를 밝히십시오.',
    "nothing_blocked": "기록했습니다. 차단된 호출은 없었습니다.",
}

CATALOGUES: dict[Locale, dict[str, str]] = {Locale.EN: _ENGLISH, Locale.KO: _KOREAN}


def say(locale: Locale, code: str, facts: dict[str, Any]) -> str:
    """The answer with this code."""
    return CATALOGUES[locale][code].format(**facts)
