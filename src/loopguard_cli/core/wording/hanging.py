"""What is said about an agent that hangs, or says nothing, in both languages."""

from __future__ import annotations

from loopguard_cli.core.settings import Locale

_ENGLISH: dict[str, str] = {
    "nothing": "the agent seems to hang: for {:.0f} min it is busy, but does nothing and waits for nothing",
    "answer": "the agent seems to hang: for {:.0f} min it has waited for an answer, and nothing has come",
    "command": "the agent seems to hang: for {:.0f} min a command has run that does nothing",
    "itself": "the agent seems to hang: for {:.0f} min it has used the processor, and nothing has come of it",
    "mute": "UNGUARDED so far: within {:g} s none of what it printed was an event",
    "deaf": "the agent did not react to being interrupted; end it by hand (loopguard keeps its session)",
    "restarted": "You were started again because you had stopped responding. Continue the task where you left "
    "off; do not repeat what was done already.",
}

_KOREAN: dict[str, str] = {
    "nothing": "에이전트가 멈춘 것 같습니다: {:.0f}분 동안 작업 중이지만 아무것도 하지 않고 기다리는 것도 없습니다",
    "answer": "에이전트가 멈춘 것 같습니다: {:.0f}분 동안 응답을 기다렸지만 아무것도 오지 않았습니다",
    "command": "에이전트가 멈춘 것 같습니다: {:.0f}분 동안 실행 중인 명령이 아무것도 하지 않습니다",
    "itself": "에이전트가 멈춘 것 같습니다: {:.0f}분 동안 프로세서를 사용했지만 아무 결과도 없습니다",
    "mute": "아직 보호되지 않습니다: {:g}초 동안 출력된 것 중 이벤트가 없었습니다",
    "deaf": "에이전트가 중단 요청에 반응하지 않았습니다. 직접 종료하십시오(세션은 보존됩니다)",
    "restarted": "응답이 없어 다시 시작되었습니다. 이미 한 일을 반복하지 말고 중단된 지점부터 작업을 계속하십시오.",
}

HANGING: dict[Locale, dict[str, str]] = {Locale.EN: _ENGLISH, Locale.KO: _KOREAN}
