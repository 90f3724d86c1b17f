#!/bin/sh
# Hook client: hook.sh FOLDER PID HOOK. Passes standard input to the supervisor with this PID and prints
# what it answers. Without a supervisor, or when it ends meanwhile, it says nothing and exits 0.
# Shell and named pipes only, because an agent may call it for every single step.
[ -p "$1/requests" ] && kill -0 "$2" 2>/dev/null || exit 0
umask 077
mine="$1/$$"
trap 'rm -f "$mine.q" "$mine.a"' EXIT
trap 'exit 0' HUP INT TERM
mkfifo "$mine.q" "$mine.a" || exit 0
# Held open for both until the supervisor has it open too: it must not find a pipe without a reader.
exec 3<>"$mine.a" 4<>"$1/requests"
printf '%s %s\n' "$$" "$3" >&4
{ cat; printf '\000'; } >"$mine.q"
exec 5<"$mine.a" 3>&- 4>&-
read -r code <&5 || exit 0
if [ "$code" = 0 ]; then cat <&5; else cat <&5 >&2; fi
exit "$code"
