# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# cli_kit.sh - what tests of the command line share. Their first argument is the program; they run in a new folder, which is
# removed when they end. Has hold.sh and refused.sh.
#
#   gradmark, held_gradmark   The program, and the one that stops at named points (hold.sh).
#   folder                    The new folder.
#   fail TEXT                 End the test, with the last lines of the files out* and err*.
#   run COMMAND...            Writes standard output to out, standard error to err. Sets code to the exit status.
#   ends STATUS COMMAND...    The same output. Fails unless the command ends with STATUS.
#   ok COMMAND...             The same with status 0.
#   fits                      Fails unless the lines of out have at most 100 columns. Rows of comm have the columns of nccl-tests.
#   comments                  Print out, with lines that begin with "#   " at the end of the line before.
#   whole                     Print out, with lines that begin with two blanks at the end of the line before.
#   value KEY FILE            Print a value of the last record of FILE.
#
# Paths among the other arguments are made absolute before:
#
#   digits=$(realpath "$2")
#   . "$(dirname "${BASH_SOURCE[0]}")/suite/cli_kit.sh"
gradmark=$(realpath "$1")
# shellcheck disable=SC2034
held_gradmark=$(dirname "$gradmark")/with_holds/gradmark
test_name="${0##*/}${2:+ $2}"
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/../../base/suite/hold.sh"
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/../../base/suite/refused.sh"
folder=$(mktemp -d "${TMPDIR:-/tmp}/gradmark-cli.XXXXXX")
test_folder=$folder # which a test that uses the name for another one leaves
trap 'rm -rf -- "$test_folder"' EXIT
cd "$folder" || exit 1
# The user of a new machine is root, whom mpirun refuses unless it is asked twice.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

fail() {
    local file
    echo "$test_name: $*" >&2
    for file in out* err*; do
        [ ! -f "$file" ] || tail -n 30 "$file" | sed "s/^/  $file: /" >&2
    done
    exit 1
}

run() {
    code=0
    "$@" >out 2>err </dev/null || code=$?
}

ends() {
    local wanted=$1 code=0
    shift
    "$@" >out 2>err </dev/null || code=$?
    [ $code -eq "$wanted" ] || fail "exit status $code, not $wanted: $*"
}

ok() {
    "$@" >out 2>err </dev/null || fail "exit status $?: $*"
}

fits() {
    local wide
    wide=$(LC_ALL=C.UTF-8 grep -E '^.{101}' out | grep -vE '^ +[0-9]+ +[0-9]+ +float |^#  .* (out-of-place|redop|\(us\)) ') || return 0
    fail "wider than 100 columns: $wide"
}

comments() { sed -e ':n' -e '$!N;s/\n#   / /;tn' -e 'P;D' out; }

whole() { sed -e ':n' -e '$!N;s/\n   */ /;tn' -e 'P;D' out; }

value() {
    tail -n 1 "$2" | grep -oE "\"$1\":(\[[^]]*\]|\"[^\"]*\"|[^,}]*)" | head -n 1 | cut -d: -f2- | tr -d '"'
}
