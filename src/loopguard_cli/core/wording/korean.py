"""한국어."""

ANY_RULE = "{count}회 반복되었습니다."

RULES: dict[str, str] = {
    "repeat-call": "{tool} 도구가 {window_seconds}초 안에 같은 인수로 {count}번 호출되었습니다.",
    "consecutive-call": "{tool} 도구가 같은 인수로 연속 {count}번 호출되었습니다.",
    "call-cycle": "같은 호출 {length}개가 {count}번 순환했습니다.",
    "call-frequency": "최근 호출 {window}개 중 {count}개가 같은 인수의 {tool} 호출입니다.",
    "repeat-error": "같은 오류가 연속 {count}번 발생했습니다.",
    "prose-block": "문장 {sentences}개로 된 같은 단락이 연속 {count}번 작성되었습니다.",
    "prose-irregular": "최근 문장 {window}개 중 {repeated}개가 서로 반복됩니다.",
    "repeat-response": "같은 답변이 연속 {count}번 나왔습니다.",
    "similar-response": "최근 답변 {count}개가 거의 같은 말로 같은 내용을 반복하며, 실제로 수행된 작업이 없습니다.",
    "announcements": "최근 텍스트 {count}개 중 서로 다른 것은 {distinct}개뿐이며, 예고한 작업이 수행되지 않았습니다.",
    "repeat-reasoning": "같은 추론이 연속 {count}번 되풀이되었습니다.",
    "char-cycle": "같은 문자 {unit}개가 연속 {count}번 작성되었습니다.",
    "templated-text": "최근 {count}줄은 숫자를 제외하면 서로 다른 것이 {distinct}개뿐입니다.",
    "few-words": "최근 {count}줄은 서로 다른 단어 {distinct}개로만 이루어져 있습니다.",
    "near-duplicate": "최근 단락 {count}개가 거의 같습니다.",
    "stale-reasoning": "최근 추론 단락 {count}개에 새로운 단어가 거의 없습니다.",
    "poll-unchanged": "{tool} 상태를 약 {pause_seconds}초 간격으로 {count}번 확인했지만 변한 것이 없습니다.",
    "same-outcome": "{tool} 호출을 {count}번 연속 조금씩 바꾸었지만 결과는 같았습니다.",
    "growing-call": "최근 {tool} 호출 {count}개는 모두 앞의 호출에 그 일부를 다시 덧붙인 것입니다.",
    "fruitless-edits": "서로 다른 변경 {count}번 후에도 {tool} 호출이 같은 방식으로 실패했습니다.",
    "repeated-delegation": "같은 작업을 하위 에이전트에 연속 {count}번 맡겼습니다.",
    "sibling-error": "앞선 하위 에이전트 {count}개가 정확히 같은 {tool} 호출에서 같은 방식으로 실패했습니다.",
    "no-novelty": "최근 호출 {window}개에서 새로운 것이 없었습니다. 서로 다른 호출은 {distinct}개뿐이었습니다.",
    "pace-turns": "이번 실행은 {count}턴째입니다(권장 한도 {limit}턴).",
    "pace-time": "이번 실행은 {seconds}초가 지났습니다(권장 한도 {limit}초).",
}

COST = "지금까지: {}."
COST_CALL = "호출 {}회"
COST_CALLS = "호출 {}회"
COST_TOKENS = "토큰 {}개"
COST_SECONDS = "{}초"

BLOCKED = (
    "이 호출은 실행되지 않았으며, 차단된 것은 이 호출뿐입니다. 다른 도구나 다른 인수의 호출은 정상적으로 실행됩니다. "
    "이미 얻은 결과를 확인하고 다른 단계를 진행하십시오. 정확히 이 호출을 다시 실행해 새로운 정보를 얻을 수 있다면 먼저 "
    'loop_decide(decision "continue")로 그 이유를 밝히십시오. 진행할 수 없다면 막힌 이유를 알리고 멈추십시오.'
)
ABORTING = "반복 때문에 이 턴을 중단하는 중이며, 이 호출은 실행되지 않았습니다."
STOPPED = "반복이 계속되어 이 세션이 중지되었으며, 이 호출은 실행되지 않았습니다. 막힌 이유를 사용자에게 알리십시오."
NUDGE = "차단된 것은 없습니다. 최근 단계에서 새로운 것이 있었는지 확인하고, 없다면 다른 단계를 진행하거나 막힌 이유를 알리고 멈추십시오."
CONTINUE = (
    "그래서 직전 출력이 중단되었습니다. 마지막으로 확인된 결과에서 원래 작업을 이어서 진행하십시오. 같은 안내나 이미 끝난 "
    "작업을 반복하지 말고, 지금 다른 유용한 행동을 수행하십시오. 진행이 불가능하면 구체적인 이유를 한 번만 밝히고 멈추십시오."
)
TRIMMED = "[반복된 내용 삭제]"
HINT = (
    "새로운 결과가 없었던 도구 호출이나 문장을 반복하지 마십시오. 호출을 반복하기 전에 무엇이 달라졌는지 확인하십시오. "
    "막혔을 때는 같은 시도를 되풀이하지 말고 막힌 이유를 보고하십시오."
)

OUTCOMES: dict[str, str] = {
    "noted": "반복 기록됨",
    "warned": "반복 가능성",
    "nudged": "에이전트에 힌트 전달됨",
    "blocked": "호출 차단됨",
    "aborted": "턴 중단됨",
    "stopped": "중지됨",
}

EXHAUSTED = "자동 {} 후에도 다시 반복되어 에이전트를 중지했습니다. 계속하려면 메시지를 보내십시오."
RECOVERY_FAILED = (
    "반복 이후 재개하지 못했습니다({}). 에이전트는 그대로 두었습니다. 계속하려면 메시지를 보내십시오."
)
CAPS: dict[str, str] = {
    "calls": "도구 호출",
    "turns": "턴",
    "tokens": "토큰",
    "cost": "미국 달러",
    "minutes": "분",
}
CAPPED = "중지됨: 이번 실행이 한도({0} {1})에 도달했습니다."
LEAKED = "{} 호출을 거부했지만 에이전트가 실행했습니다. 응답이 너무 늦었거나 여기서는 차단할 수 없습니다."
FAULTED = "loopguard의 일부({})에 문제가 생겨 꺼졌습니다. 에이전트는 그 기능 없이 계속됩니다."
STATUS = "감시 {}, 프리셋 {}: 도구 호출 {}회, 차단 {}회, 턴 중단 {}회."
CALL_BLOCKED = "차단됨"
NO_CALLS = "아직 도구 호출이 없습니다."
UNGUARDED = "보호되지 않음: {}와(과)의 연결이 끊겼습니다. 에이전트는 보호 없이 계속됩니다."
BYPASSED = "보호되지 않음: {}이(가) 보호 장치에 묻지 않고 작업합니다({})."
GUARDED_AGAIN = "{}이(가) 다시 연결되어 보호됩니다."
REFUSED = "거부됨: 에이전트 내부에서는 {}을(를) 바꿀 수 없습니다."
FORGED = "거부됨: 에이전트 내부의 프로그램이 에이전트만 호출할 수 있는 훅 {}을(를) 호출했습니다."
CHANGED = "{} 값이 {}(으)로 바뀌었습니다"
UNKNOWN = "{!r}은(는) 알 수 없습니다. 다음 중에서 고르십시오: {}."
APPLIED = "설정 파일이 현재 내용대로 적용되었습니다."
COUNTERS_RESET = "모든 집계를 새로 시작하며 차단된 호출은 없습니다."
LOOSENS = (
    "{} 파일이 {} 설정을 느슨하게 하려 하므로 이전 설정을 유지합니다. 직접 바꾼 것이라면 다른 터미널에서 "
    "'loopguard config apply'를 실행하십시오."
)
RELOADED = "{} 파일이 바뀌어 적용되었습니다."
AWAITED = "{}이(가) {:g}초가 지나도 아직 연결되지 않았습니다. 연결될 때까지는 보호되지 않습니다"
SILENT = "{}이(가) 보호 없이 실행됩니다: 그 안에서 아무 응답이 없습니다({})"
FAILS_OPEN = "guard.fail_closed는 여기서 효과가 없습니다: {}은(는) 응답 없는 호출을 실행합니다"
LAZY = "{}은(는) 아직 보호되지 않습니다. 첫 클라이언트가 접속할 때 보호 장치를 불러오며 그때 여기에 알립니다"
SPOKE_LATE = "{}이(가) 뒤늦게 연결되어 이제 보호됩니다"
CONNECTED = "{}이(가) 연결되어 이제 보호됩니다"
SUMMARY = "{}, 차단 {}회, {} 중단, {}"
COUNTED: dict[str, str] = {
    "call": "도구 호출 {}회",
    "calls": "도구 호출 {}회",
    "turn": "턴 {}회",
    "turns": "턴 {}회",
    "continuation": "재개 {}회",
    "continuations": "재개 {}회",
    "message": "메시지 {}개",
    "messages": "메시지 {}개",
}
UNPARSED = "에이전트의 {}를 이해하지 못했습니다(처음: {}). loopguard가 아는 것보다 새 버전일 수 있습니다."
NOTICES: dict[str, str] = {
    "loop.stopped": "에이전트 중지됨: 반복이 계속되었습니다",
    "goal.achieved": "목표 달성",
    "goal.blocked": "목표 중단: 사용자의 도움이 필요합니다",
    "goal.limit": "목표가 끝나기 전에 멈췄습니다",
    "agent.hung": "에이전트가 응답하지 않습니다",
    "agent.unguarded": "에이전트가 보호 없이 실행되고 있습니다",
}
