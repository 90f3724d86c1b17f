#!/bin/sh
# Hook client: hook.sh FOLDER PID HOOK. Passes standard input to the supervisor with this PID and prints
# what it answers. Without a supervisor, or when it ends meanwhile, it says nothing and exits 0.
# Shell and named pipes only, because an agent may call it for every single step; each program more that it
# starts costs a millisecond.
[ -p "$1/requests" ] && kill -0 "$2" 2>/dev/null || exit 0
umask 077
mine="$1/$$"
# The supervisor removes the pipes once both ends are open.
trap '[ -p "$mine.a" ] && rm -f "$mine.q" "$mine.a"' EXIT
trap 'exit 0' HUP INT TERM
mkfifo "$mine.q" "$mine.a" || exit 0
# Held open for both until the supervisor has it open too: it must not find a pipe without a reader.
exec 3<>"$mine.a" 4<>"$1/requests" 5<"$mine.a"
printf '%s %s\n' "$$" "$3" >&4
{ cat; printf '\000'; } >"$mine.q"
exec 3>&- 4>&-
read -r code text <&5 || exit 0
[ "$text" ] || exit "$code"
if [ "$code" = 0 ]; then cat <&5; else cat <&5 >&2; fi
exit "$code"
