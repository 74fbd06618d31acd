# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# quietly.sh - for scripts that install and build: one line of progress instead of the output.

# quietly LOG WHAT COMMAND ...: runs the command. What it prints goes to the end of LOG. Prints WHAT, on a terminal with
# the last [step/steps] of the build, and how long it took. When the command fails, prints the last lines of its output
# and returns its exit status.
quietly() {
    local log=$1 what=$2 started=$SECONDS line rc=0 first
    shift 2
    mkdir -p "$(dirname "$log")"
    touch "$log"
    first=$(($(wc -l <"$log") + 1))
    [ ! -t 1 ] || printf '%s' "$what"
    while IFS= read -r line; do
        if [[ $line =~ ^quietly:\ exit\ status\ ([0-9]+)$ ]]; then
            rc=${BASH_REMATCH[1]}
            continue
        fi
        printf '%s\n' "$line" >>"$log"
        [ ! -t 1 ] || [[ ! $line =~ ^\[[0-9]+/[0-9]+\] ]] || printf '\r%s: %s' "$what" "${BASH_REMATCH[0]}"
    done < <("$@" 2>&1 || printf 'quietly: exit status %d\n' $?)
    [ ! -t 1 ] || printf '\r'
    if [ "$rc" -ne 0 ]; then
        printf '%s: failed with exit status %d. The last lines of %s:\n' "$what" "$rc" "$log" >&2
        tail -n "+$first" "$log" | tail -n 40 >&2
        return "$rc"
    fi
    printf '%s: done in %d s\n' "$what" $((SECONDS - started))
}
