#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs a command once for each value, with dvm-cli and jq, and reports what came of each.
#
#     sweep.sh VALUE... -- PROGRAM [ARGUMENTS]
#
# The value is in the variable VALUE of the job's environment. A job's output goes to out-VALUE in the current directory.
# The exit status is 0 if all jobs succeeded, 1 if one failed, 125 if the DVM could not be asked.
set -eu

values=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    # A value becomes the name of a file, and words are split at blanks below.
    case $1 in *[!A-Za-z0-9._+-]*|'') echo "sweep.sh: \"$1\": letters, digits, . _ + - alone" >&2; exit 2 ;; esac
    values="$values $1"
    shift
done
[ $# -gt 1 ] && [ -n "$values" ] || { echo 'sweep.sh: usage: sweep.sh VALUE... -- PROGRAM [ARGUMENTS]' >&2; exit 2; }
shift

jobs=
for value in $values; do
    # One object for each job; its label says later which value it had.
    job=$(dvm-cli submit --json -n 1 -x "VALUE=$value" --label "$value" --stdout-path "out-$value" "$@") || exit 125
    jobs="$jobs $(printf '%s\n' "$job" | jq -r .id)"
done

# The exit status of `wait` is that of the first job that failed: each job's own is in the answer.
results=$(dvm-cli wait --quiet --json $jobs) || :
[ -n "$results" ] || exit 125
printf '%s\n' "$results" | jq -r '.[] | [.label, .state, .["exit-code"], .reason] | @tsv'
printf '%s\n' "$results" | jq -r '"\(length) jobs, \(map(select(.failed)) | length) failed"'
printf '%s\n' "$results" | jq -e 'all(.failed | not)' >/dev/null || exit 1
