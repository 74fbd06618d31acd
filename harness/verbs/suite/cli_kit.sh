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
#   on_terminal COLUMNS COMMAND...
#                             Writes to out what a terminal of that width gets, standard error too. Sets code. A line that is
#                             drawn again is a line.
#   fits, fits_in COLUMNS     Fails unless the lines of out have at most 100 columns, or that many. Rows of comm have the columns of
#                             nccl-tests, and code blocks of pages are as they were written.
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

on_terminal() {
    code=0
    python3 -c "
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    os.environ['TERM'] = 'xterm'
    os.execvp(sys.argv[2], sys.argv[2:])
got = b''
try:
    while part := os.read(fd, 65536):
        got += part
except OSError:
    pass  # the end of a terminal
sys.stdout.buffer.write(got.replace(b'\r\n', b'\n').replace(b'\r', b'\n').replace(b'\x1b[K', b''))
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))" "$@" >out 2>err || code=$?
}

fits() { fits_in 100; }

fits_in() {
    local wide most=$1
    # shellcheck disable=SC2016 # they are no expansions
    wide=$(sed '/^ *```/,/^ *```/d' out | LC_ALL=C.UTF-8 grep -E "^.{$((most + 1))}" |
        grep -vE '^ +[0-9]+ +[0-9]+ +float |^#  .* (out-of-place|redop|\(us\)) ') || return 0
    fail "wider than $most columns: $wide"
}

comments() { sed -e ':n' -e '$!N;s/\n#   / /;tn' -e 'P;D' out; }

whole() { sed -e ':n' -e '$!N;s/\n   */ /;tn' -e 'P;D' out; }

value() {
    tail -n 1 "$2" | grep -oE "\"$1\":(\[[^]]*\]|\"[^\"]*\"|[^,}]*)" | head -n 1 | cut -d: -f2- | tr -d '"'
}
