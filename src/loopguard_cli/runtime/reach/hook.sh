#!/bin/sh
# Hook client: hook.sh FOLDER PID HOOK. Passes standard input to the supervisor with this PID and prints
# what it answers. Without a supervisor, or when it ends meanwhile, it says nothing and exits 0.
# Shell and named pipes only, because an agent may call it for every single step; each program more that it
# starts costs a millisecond.
[ -p "$1/requests" ] && kill -0 "$2" 2>/dev/null || exit 0
umask 077
mine="$1/$$"
# The supervisor removes the pipes once it has both open.
trap '[ -p "$mine.a" ] && rm -f "$mine.q" "$mine.a"' EXIT
trap 'exit 0' HUP INT TERM PIPE
mkfifo "$mine.q" "$mine.a" || exit 0
# Opened in both directions first, a pipe never has us wait for who opens it from the other side. Held in both until
# the supervisor has it open too, it is not at its end before that, and is once the supervisor is gone.
exec 3<>"$mine.a" 5<"$mine.a" 6<>"$mine.q" 7>"$mine.q" 8<>"$1/requests" 4>"$1/requests" 8>&-
# Its number tells little of a supervisor that was killed; that nobody reads any more tells all.
printf '%s %s\n' "$$" "$3" >&4 2>/dev/null || exit 0
# Nothing is ever in a turn: it ends when callers have been let in, and with the supervisor.
while [ -p "$mine.a" ] && [ -p "$1/turn" ]; do
  command exec 8<>"$1/turn" 9<"$1/turn" 8>&-
  [ -p "$mine.a" ] && read -r _ <&9 # let in before we had this turn, we would wait for the next one
  [ -p "$mine.a" ] && { echo >&4 || exit 0; }
done 2>/dev/null
exec 4>&- 6>&- 9<&-
{ cat; printf '\000' 2>/dev/null; } >&7
exec 3>&- 7>&-
read -r code text <&5 || exit 0
[ "$text" ] || exit "$code"
if [ "$code" = 0 ]; then cat <&5; else cat <&5 >&2; fi
exit "$code"
