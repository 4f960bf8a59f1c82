#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Submits a job with busctl alone, waits for it and looks at it. Nothing of dvm has to be installed here.
#
#     with-busctl.sh PROGRAM [ARGUMENTS]
#
# With $DVM_SOCKET it goes to that private socket, else to the session bus, where it watches the job's signals too. The
# exit status is the job's exit code, 128 + the signal that ended it, 125 if the DVM failed it or cannot be reached, 141
# if nobody reads what this says.
set -eu

[ $# -gt 0 ] || { echo 'with-busctl.sh: the program is missing' >&2; exit 2; }
if [ -n "${DVM_SOCKET-}" ]; then
    bus=--address=unix:path=$DVM_SOCKET
else
    bus=--user
fi

# "--" because busctl would take a "-f" of the program for itself. A job may run for longer than any timeout.
call () {
    busctl "$bus" --timeout=infinity call -- org.dvm.Manager "$@" || exit 125
}

# Nobody knows the number of a job whose reader has gone: it goes, too.
trap : PIPE
say () {
    echo "$1" 2>/dev/null && return
    call "$job" org.dvm.Job Cancel 'a{sv}' 0 >/dev/null 2>&1 || :
    exit 141
}

property () {
    busctl "$bus" get-property -- org.dvm.Manager "$1" org.dvm.Job "$2" | cut -d' ' -f2-
}

place=$(mktemp -d)
monitor=
trap '[ -z "$monitor" ] || kill "$monitor" 2>/dev/null || :; rm -rf "$place"' EXIT

# Only a message bus can be monitored; a private socket has two ends and nobody beside.
if [ "$bus" = --user ]; then
    # Both files are there before the process that writes them, which may be slow to begin.
    : >"$place/signals"
    : >"$place/monitor"
    busctl --user monitor --match="type='signal',path_namespace='/org/dvm/jobs'" >"$place/signals" 2>"$place/monitor" &
    monitor=$!
    # It says on standard error when it listens; what happens before that is not seen.
    while kill -0 "$monitor" 2>/dev/null && ! grep -q . "$place/monitor"; do sleep 0.1; done
fi

# as: how many words, and the words; a{sv}: how many pairs, and each as key, type, value.
answer=$(call /org/dvm/Manager org.dvm.Manager Submit 'asa{sv}' $# "$@" 2 np u 1 cwd s "$PWD")
job=${answer#o \"}
job=${job%\"}
say "submitted $job"

# Answers when the job has ended and its output is delivered.
call "$job" org.dvm.Job Wait 'a{sv}' 0 >/dev/null
code=$(property "$job" ExitCode)
signal=$(property "$job" ExitSignal)
say "ended as $(property "$job" StateName), exit code $code, signal $signal"

if [ -n "$monitor" ]; then
    # The new values come before the answer to Wait, but the monitor may be slow to write them.
    mine='index($0, "Path=") { mine = index($0, "Path=" job " ") }'
    while kill -0 "$monitor" 2>/dev/null \
        && ! awk -v job="$job" "$mine"' mine && /"EndedAt"/ { seen = 1 } END { exit !seen }' "$place/signals"
    do
        sleep 0.1
    done
    say "signals seen: $(awk -v job="$job" "$mine"' mine && /Member=/ { n++ } END { print n + 0 }' "$place/signals")"
fi

[ "$signal" -eq 0 ] || exit $((128 + signal))
[ "$code" -eq 0 ] || exit "$code"
[ "$(property "$job" Failed)" = false ] || exit 125
