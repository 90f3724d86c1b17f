#!/bin/sh
# lifeline.sh PID: ends the process group PID, which we drove, and what is below it, when the supervisor was
# killed outright. The supervisor holds the other end of standard input. It says a word when the group is ours
# no longer; an end without that word means that nobody is left who could end what it drove.

start_of() { ps -o lstart= -p "$1" 2>/dev/null | tr -s ' '; }

below() { # process numbers and starts of everything below PID; what an agent starts may lead a group itself
  ps -A -o pid= -o ppid= -o lstart= | awk -v root="$1" '
    { pid = $1; parent[pid] = $2; $1 = $2 = ""; started[pid] = substr($0, 3) }
    END {
      for (pid in parent) {
        at = pid
        while (at in parent && at != root) at = parent[at]
        if (at == root && pid != root) print pid, started[pid]
      }
    }'
}

started=$(start_of "$1")
if read -r _; then exit 0; fi
left=$(below "$1") # once: whoever loses its parent is not found again
for signal in TERM KILL; do
  # A process with another start is a stranger with its number; without a leader the number cannot be one.
  now=$(start_of "$1")
  [ -z "$now" ] || [ "$now" = "$started" ] || exit 0
  kill -s "$signal" -- "-$1" 2>/dev/null
  echo "$left" | while read -r pid start; do
    [ -n "$pid" ] && [ "$(start_of "$pid")" = "$start" ] && kill -s "$signal" "$pid" 2>/dev/null
  done
  sleep 2
done
