# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# refused.sh - functions for shell tests that check an error without its sentences. The calling test defines fail().
#
#   refused_with STATUS NAMES COMMAND...   Run COMMAND. Fails unless it ends with STATUS, and standard error is one line
#                                          that has NAMES. Writes standard output to out, standard error to err.
#   has_names NAMES FILE                   Fails unless a line of FILE has NAMES.
#
# NAMES: what must stand in the line, in this order, parted by " ... ": the option with its value, then other options,
# values and numbers by which this error differs from others of the same option. Each is looked for as a whole word.
#
#   refused_with 2 '--workers 0 ... 1 ... 65536' "$gradmark" train --workers 0
#
# The sentences between them have their own test: harness/verbs/words_cli_test.
has_names() {
    local behind='(?![\w-])' before='(?<!\w)' pattern
    pattern="\\Q${1// ... /\\E$behind.*$before\\Q}\\E"
    [[ $1 != [[:alnum:]_]* ]] || pattern=$before$pattern
    [[ $1 != *[[:alnum:]_] ]] || pattern+=$behind
    LC_ALL=C grep -qP -- "$pattern" "$2" || fail "no line of $2 has '$1'"
}

refused_with() {
    local status=$1 names=$2 code=0
    shift 2
    timeout 600 "$@" >out 2>err </dev/null || code=$?
    [ $code -eq "$status" ] || fail "exit status $code, not $status: $*"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line on standard error: $*"
    has_names "$names" err
}
