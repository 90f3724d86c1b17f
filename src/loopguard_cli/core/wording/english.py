"""English."""

ANY_RULE = "{count} repetitions."

RULES: dict[str, str] = {
    "repeat-call": "{tool} was called {count} times with the same arguments within {window_seconds} s.",
    "consecutive-call": "{tool} was called {count} times in a row with the same arguments.",
    "call-cycle": "The same {length} calls went round {count} times.",
    "call-frequency": "{tool} with the same arguments made up {count} of the last {window} calls.",
    "repeat-error": "The same error came back {count} times in a row.",
    "prose-block": "The same passage was written {count} times in a row (sentences: {sentences}).",
    "prose-irregular": "{repeated} of the last {window} sentences repeat each other.",
    "repeat-response": "The same answer was given {count} times in a row.",
    "similar-response": "{count} recent answers say the same in nearly the same words, and nothing was done.",
    "announcements": "The last {count} texts are only {distinct} different ones; what they announce was not done.",
    "repeat-reasoning": "The same reasoning was gone through {count} times in a row.",
    "char-cycle": "The same characters were written {count} times in a row (length: {unit}).",
    "templated-text": "The last {count} lines are only {distinct} different ones, apart from their numbers.",
    "few-words": "The last {count} lines are made of only {distinct} different words.",
    "near-duplicate": "{count} recent paragraphs are nearly the same.",
    "stale-reasoning": "The last {count} paragraphs of reasoning brought hardly any new words.",
    "poll-unchanged": "{tool} was polled {count} times, about every {pause_seconds} s, and nothing changed.",
    "same-outcome": "{count} variations of one {tool} call in a row brought the same result.",
    "growing-call": "Each of the last {count} calls of {tool} is the one before with a part of it repeated.",
    "fruitless-edits": "{tool} failed in the same way after {count} different changes.",
    "repeated-delegation": "The same task was given to a sub-agent {count} times in a row.",
    "sibling-error": "{count} sub-agents before this one failed in the same way with exactly this {tool} call.",
    "no-novelty": "The last {window} calls brought nothing new; they were only {distinct} different ones.",
    "pace-turns": "This run has taken {count} turns (soft limit {limit}).",
    "pace-time": "This run has taken {seconds} s (soft limit {limit} s).",
}

COST = "So far: {}."
COST_CALL = "{} call"
COST_CALLS = "{} calls"
COST_TOKENS = "{} tokens"
COST_SECONDS = "{} s"

BLOCKED = (
    "This call was not run, and only this call is blocked: other tools, or this tool with other arguments, "
    "run normally. Look at the result you already have and take a different step. If running exactly this "
    'call again would tell you something new, say so with loop_decide (decision "continue") first. '
    "If you cannot get on, state the blocker and stop."
)
ABORTING = "This turn is being cut off because it repeats itself; the call was not run."
STOPPED = (
    "This session was stopped because it kept looping; the call was not run. Report the blocker to the user."
)
NUDGE = (
    "Nothing was blocked. Check whether the last steps brought anything new; if not, take a different step, "
    "or state the blocker and stop."
)
CONTINUE = (
    "Your last output was cut off for that reason. Go on with the original task from the last verified result: "
    "do not repeat the announcement or the work that is done, and perform a different, useful action now. "
    "If no progress is possible, stop and give the specific reason once."
)
TRIMMED = "[repeated text removed]"
HINT = (
    "Do not repeat a tool call or a statement that brought nothing new. Before you repeat a call, know what "
    "has changed. When you are blocked, report the blocker instead of trying the same again."
)

OUTCOMES: dict[str, str] = {
    "noted": "Loop noted",
    "warned": "Possible loop",
    "nudged": "Hint given to the agent",
    "blocked": "Call blocked",
    "aborted": "Turn cut off",
    "stopped": "Stopped",
}

EXHAUSTED = "The agent looped again after {}; it was stopped. Send it a message to go on."
RECOVERY_FAILED = (
    "Could not continue after the loop ({}). The agent was left as it is; send it a message to go on."
)
CAPS: dict[str, str] = {
    "calls": "tool calls",
    "turns": "turns",
    "tokens": "tokens",
    "cost": "US dollars",
    "minutes": "minutes",
}
CAPPED = "Stopped: this run reached its limit of {1} {0}."
LEAKED = (
    "A call of {} was refused but the agent ran it anyway: the answer came too late or cannot block here."
)
FAULTED = "A part of loopguard failed and was switched off ({}). The agent goes on without it."
STATUS = "Guard {}, preset {}: {} tool calls, {} blocked, {} turns cut off."
CALL_BLOCKED = "blocked"
NO_CALLS = "No tool calls yet."
UNGUARDED = "NOT GUARDED: the connection to {} is lost; it goes on without the guard."
BYPASSED = "NOT GUARDED: {} works without asking the guard ({})."
GUARDED_AGAIN = "{} is connected again and guarded."
REFUSED = "Refused: {} may not be changed from inside the agent."
FORGED = "Refused: a program inside the agent has called the hook {}, which only the agent itself may."
CHANGED = "{} is now {}"
UNKNOWN = "{!r} is not known here; try one of: {}."
APPLIED = "The settings files are in force as they are now."
COUNTERS_RESET = "All counts start afresh, and nothing is blocked."
LOOSENS = (
    "{} would loosen {}; the former settings stay in force. If you made this change, run "
    "'loopguard config apply' in another terminal."
)
RELOADED = "{} has changed and is in force."
AWAITED = "{} has not connected after {:g} s; until it has, it is not guarded"
SILENT = "{} runs UNGUARDED: nothing of ours inside it has answered ({})"
FAILS_OPEN = "guard.fail_closed has no effect here: {} runs calls that nobody answers"
LAZY = "{} is not guarded yet: it loads the guard with its first client, and that will be said here"
SPOKE_LATE = "{} has connected after all and is guarded now"
CONNECTED = "{} has connected and is guarded now"
SUMMARY = "{}, {} blocked, {} cut off, {}"
COUNTED: dict[str, str] = {
    "call": "{} tool call",
    "calls": "{} tool calls",
    "turn": "{} turn",
    "turns": "{} turns",
    "continuation": "{} continuation",
    "continuations": "{} continuations",
    "message": "{} message",
    "messages": "{} messages",
}
UNPARSED = (
    "{} of the agent could not be understood (first: {}). This version may be newer than loopguard knows."
)
NOTICES: dict[str, str] = {
    "loop.stopped": "Agent stopped: it was looping",
    "goal.achieved": "Goal achieved",
    "goal.blocked": "Goal blocked: it needs you",
    "goal.limit": "Goal stopped before its end",
    "agent.hung": "Agent does not respond",
    "agent.unguarded": "Agent runs UNGUARDED",
}
