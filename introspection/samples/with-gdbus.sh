#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Submits a job with gdbus, which every machine with GLib has, waits for it and shows its properties.
#
#     with-gdbus.sh [-n NP] WORD...
#
# With $DVM_SOCKET it goes to that private socket, else to the session bus. The exit status is 125 if that fails,
# and 141 if nobody reads what this says.
set -eu

np=1
if [ "${1-}" = -n ]; then
    np=${2:?with-gdbus.sh: -n needs a number}
    shift 2
fi
[ $# -gt 0 ] || { echo 'with-gdbus.sh: the program is missing' >&2; exit 2; }

if [ -n "${DVM_SOCKET-}" ]; then
    set -- "--address=unix:path=$DVM_SOCKET" "$@"
else
    set -- --session "$@"
fi
where=$1
shift

# A word in the text format of GVariant: what would end the string is escaped.
quote () {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/[\\\\']/\\\\&/g")"
}

words=
for word in "$@"; do
    words="$words${words:+, }$(quote "$word")"
done

# --timeout in seconds: the answer to Wait comes when the job has ended.
call () {
    gdbus call "$where" --timeout=2000000 --dest=org.dvm.Manager --object-path="$1" --method="$2" "$3" ${4+"$4"} || exit 125
}

answer=$(call /org/dvm/Manager org.dvm.Manager.Submit "[$words]" "{'np': <uint32 $np>, 'cwd': <$(quote "$PWD")>}")
job=${answer#*\'}
job=${job%%\'*}
# Nobody knows the number of a job whose reader has gone: it goes, too.
trap : PIPE
if ! echo "submitted $job" 2>/dev/null; then
    call "$job" org.dvm.Job.Cancel '{}' >/dev/null
    exit 141
fi
call "$job" org.dvm.Job.Wait '{}'
gdbus introspect "$where" --dest=org.dvm.Manager --object-path="$job" --only-properties |
    sed -n 's/^ *readonly [a-z]* \(.*\);$/\1/p'
