#!/bin/sh
# lifeline.sh MARK: ends what has MARK in its environment, and a process group with what is below it, when the
# supervisor was killed outright. The supervisor holds the other end of standard input. It says the number of the
# group once there is one, and an empty line when the group is its own no longer; an end without that means that
# nobody is left who could end what it drove.

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

marked() { # an agent that ends with its input leaves nobody behind who leads to what it started
  [ -n "$1" ] || return 0
  if [ -r /proc/self/environ ]; then
    grep -lsF "$1" /proc/[0-9]*/environ | cut -d / -f 3
  else
    ps -AEww -o pid= -o command= | grep -F "$1" | awk '{ print $1 }'
  fi
}

group=
while read -r word; do
  [ -n "$word" ] || exit 0
  group=$word
  started=$(start_of "$group")
done
left=
[ -z "$group" ] || left=$(below "$group") # once: whoever loses its parent is not found again
for signal in TERM KILL; do
  # A process with another start is a stranger with its number; without a leader the number cannot be one.
  if [ -n "$group" ]; then
    now=$(start_of "$group")
    if [ -z "$now" ] || [ "$now" = "$started" ]; then kill -s "$signal" -- "-$group" 2>/dev/null; fi
  fi
  echo "$left" | while read -r pid start; do
    [ -n "$pid" ] && [ "$(start_of "$pid")" = "$start" ] && kill -s "$signal" "$pid" 2>/dev/null
  done
  for pid in $(marked "$1"); do
    [ "$pid" = $$ ] || kill -s "$signal" "$pid" 2>/dev/null
  done
  sleep 2
done
