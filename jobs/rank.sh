#!/usr/bin/env bash
# One rank under srun: rank.sh FILE COMMAND... runs the command and, if that fails, adds its exit code to FILE.
# With --kill-on-bad-exit, srun returns the signal by which it ended the other ranks, not the code of the first.

failed=$1
shift

trap : INT TERM USR1 USR2 # the command gets them too; wait for what it makes of them
"$@"
code=$?
[[ $code -eq 0 ]] || echo "$code" >>"$failed"
exit "$code"
