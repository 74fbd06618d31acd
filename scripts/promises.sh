# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# promises.sh - what acceptance and gpu_acceptance share: runs whose records are kept, and promises judged by a figure.
# They set `gradmark` (the program), `dir` (where records go) and, if a run may take only so long, `limit_s`; they read
# `n_broken`.
n_broken=0
limit_s=${limit_s-0} # timeout(1): 0 is no limit
exec 3>&1 # what is said of runs whose own words are not wanted

# run NAME COMMAND...: what it says on standard error to DIR/NAME.err, which stays only where it fails
run() {
    local name=$1 code=0
    shift
    # shellcheck disable=SC2154 # of who sources this
    timeout --foreground -k 10 "$limit_s" "$@" 2>"$dir/$name.err" || code=$?
    if [ $code -eq 0 ]; then
        rm "$dir/$name.err"
        return
    fi
    n_broken=$((n_broken + 1))
    printf '%-6s  %-66s %s\n' >&3 BROKEN "$name: exit code $code$([ $code -ne 124 ] || echo ", after $limit_s s")" "$(tail -n 1 "$dir/$name.err")"
}

# train NAME OPTION...: one run; its records to DIR/NAME.jsonl
train() {
    local name=$1
    shift
    # shellcheck disable=SC2154 # likewise
    run "$name" "$gradmark" train "$@" --record-every 50 --out "$dir/$name.jsonl" >/dev/null
}

# value KEY NAME: of the summary of a run
value() {
    { tail -n 1 "$dir/$2.jsonl" 2>/dev/null || true; } |
        { grep -oE "\"$1\":(\"[^\"]*\"|[^,}]*)" || true; } | head -n 1 | cut -d: -f2- | tr -d '"'
}

# promise TEXT FIGURE CONDITION: CONDITION is awk about x, the figure; what is no number keeps nothing
promise() {
    local kept=kept
    if ! [[ $2 =~ ^-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$ ]] || ! awk -v x="$2" "BEGIN { exit !($3) }"; then
        kept=BROKEN
        n_broken=$((n_broken + 1))
    fi
    printf '%-6s  %-66s %s\n' "$kept" "$1" "${2:-no figure}"
}

# same TEXT VALUE VALUE: two that are there, and equal
same() {
    promise "$1" "$(if [ -z "$2" ] || [ "$2" = null ]; then echo missing; elif [ "$2" = "$3" ]; then echo 1; else echo 0; fi)" 'x == 1'
}
