# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034
#
# common.sh - what the lints share; sourced, never run.
#
# A lint prints one line "FILE:LINE: what is wrong, and what would be right" per finding and
# ends with 1 when there is any, 0 when there is none, 77 when its tool is missing, 2 when it
# was called wrongly. It looks at the files of a tree, whether or not there is a repository.
#
# The awk programs keep to what POSIX has: Debian's awk is mawk.

lint_name=$(basename "$0")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build_dir=

lint_skip() {
    printf '%s: skipped: %s\n' "$lint_name" "$*"
    exit 77
}
lint_die() {
    printf '%s: %s\n' "$lint_name" "$*" >&2
    exit 2
}

# lint_tool VERSION NAME ...: set `tool` to the first of these commands that has this version (an
# extended regular expression); skip when none has. A newer version finds other things, which must
# not fail a build that nobody changed; so one version decides, that of Debian 12.
tool=
lint_tool() {
    local version=$1 candidate
    shift
    for candidate in "$@"; do
        if command -v "$candidate" >/dev/null && [[ $("$candidate" --version 2>&1) =~ $version ]]; then
            tool=$candidate
            return
        fi
    done
    lint_skip "there is no $1 of Debian 12's version (there: scripts/setup --dev)"
}

# lint_options USAGE "$@": --root DIR (another tree than this one), --build DIR, --help. Leaves
# the lint in the root of the tree.
lint_options() {
    local usage=$1
    shift
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h)
            printf '%s\n' "$usage"
            exit 0
            ;;
        --root | --build)
            if [ $# -lt 2 ] || [ ! -d "$2" ]; then lint_die "$1 needs a folder that exists"; fi
            if [ "$1" = --root ]; then root=$(cd "$2" && pwd); else build_dir=$(cd "$2" && pwd); fi
            shift
            ;;
        *) lint_die "unknown option $1 (see --help)" ;;
        esac
        shift
    done
    cd "$root" || exit 2
}

# lint_find PATTERN ...: files of the tree by name pattern, sorted, as paths from its root.
lint_find() {
    local tests=() pattern
    for pattern in "$@"; do tests+=(-o -name "$pattern"); done
    find . \( -name .git -o -path './build*' \) -type d -prune -o -type f \( "${tests[@]:1}" \) -print |
        sed 's|^\./||' | LC_ALL=C sort
}

lint_sources() { lint_find '*.c' '*.cc' '*.h' '*.cu' '*.cuh'; }

# lint_done FINDINGS: print them, and end.
lint_done() {
    if [ -n "$1" ]; then
        printf '%s\n' "$1"
        printf '%s: %d found\n' "$lint_name" "$(printf '%s\n' "$1" | wc -l)" >&2
        exit 1
    fi
    printf '%s: nothing found\n' "$lint_name"
    exit 0
}

# awk: is_test(path): test code (x_test.c, x_suite.h, suite_tools.c, x_mutants.c, x_fault.c, and all of a folder
# suite/), which no product file may include and to which the rules on rooms and clocks do not apply.
awk_is_test='
function is_test(path) {
    return path ~ /\/suite\// || path ~ /[\/_](test|suite|mutant|mutants|fault|faults)(_[a-z0-9_]+)?\.(c|h|cu|cuh)$/
}'

# awk: code(): $0 without comments, and with strings and characters emptied. Call it on every
# line; it carries an open comment to the next one, and forgets it at the next file.
awk_code='
function code(    in_text, out, i, c, two, quote) {
    if (FNR == 1) in_comment = 0
    in_text = $0; out = ""; quote = ""
    for (i = 1; i <= length(in_text); i++) {
        c = substr(in_text, i, 1); two = substr(in_text, i, 2)
        if (in_comment) { if (two == "*/") { in_comment = 0; i++; out = out " " } }
        else if (quote != "") { if (c == "\\") i++; else if (c == quote) { out = out c; quote = "" } }
        else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") break
        else { if (c == "\"" || c == "\047") quote = c; out = out c }
    }
    return out
}'
