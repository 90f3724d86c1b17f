#!/bin/sh
# lifeline.sh PID: ends the process group PID, which we drove, when the supervisor was killed outright.
# The supervisor holds the other end of standard input. It says a word when the group is ours no longer;
# an end without that word means that nobody is left who could end what it drove.
started=$(ps -o lstart= -p "$1" 2>/dev/null)
if read -r _; then exit 0; fi
for signal in TERM KILL; do
  # A leader with another start is a stranger with its number; without a leader the number cannot be one.
  now=$(ps -o lstart= -p "$1" 2>/dev/null)
  [ -z "$now" ] || [ "$now" = "$started" ] || exit 0
  kill -s "$signal" -- "-$1" 2>/dev/null || exit 0
  sleep 2
done
