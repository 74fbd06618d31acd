# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# hold.sh - to be sourced by tests: wait for a fact, never for a moment. The calling test defines fail().
#
#   hold_make NAME                  a folder of that name, here, with the FIFOs of one hold; prints its whole path
#   hold_await NAME PID             wait until a process is held there; sets held_pid and held_rank. Fails when process
#                                   PID, the one that was started, ends before that
#   hold_go NAME                    let it go on
#   hold_pass NAME                  nobody is held there any more: who is goes on, and who comes later does not wait; hold_await
#                                   still tells who came
#   draw N                          sets drawn to a number below N, which follows from draw_state alone (a seed)
#   await_line PATTERN FILE PID     wait until a line of FILE matches the extended regular expression; fails when process
#                                   PID ends and no line does
#   await_end PID                   wait until a process has ended, whether its parent has waited for it or not
#   run_ranks POINT N COMMAND...    run an mpirun that is to fail, of which N ranks come to this POINT:RANK:N; sets code.
#                                   Fails when a rank does not end. Standard output to out, standard error to err
#   own_address N                   an address on the loopback that no other test has, N from 0 to 2: every port is free
#
#   f=$(hold_make at_50)
#   GRADMARK_TEST_HOLD="step:1:50=$f" "$held_gradmark" train ... & pid=$!
#   hold_await at_50 $pid; kill -KILL "$held_pid"
#
# The points, and what N is:
#   start, probe, serve, step, end   harness/train; N: the step, of the whole training
#   exchange  harness/train; N: the step, as above: a worker has its gradient, and its exchange is under way
#   trained   harness/train; N: the steps that this worker has begun: the last one has ended, others may train on
#   push      harness/train; N: the step, as above, that a worker pushes to this server: before the server takes it
#   tune      train --autotune: N: the step of all trials, from 0; a trial has no step of the points above
#   launch    compare: N: the launch that is begun, in the order of the campaign; on every rank
#   take      compare: N: launches that are kept; one more has ended, its records are not taken yet; rank 0
#   kept      compare: N: the launch that has just been kept, its own file is still there; rank 0
#   warmup, measure   profile: N: the step that is begun, from 0 in each of both
#   shard     pack: N: shards that are written
#   size      comm: N: the size of --bytes that is begun, from 0
#   stage     accept: N: the stage that is begun, from 0 in the order of --help (1: compute, 2: noise)
#   trial     accept --self-test in threads or sim: N: the trial that is begun, from 0; rank 0
# A limit of HOLD_LIMIT_S ends a test that hangs; nothing is judged by it. A process that is held ends by itself when the
# folder of its hold is removed.
HOLD_LIMIT_S=150

hold_make() {
    mkdir -- "$1" && mkfifo -- "$1/reached" "$1/go" && realpath -- "$1"
}

# is_running PID: not one that has ended, nor one that has ended and was not waited for
is_running() {
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    stat=${stat##*) }
    [ "${stat%% *}" != Z ]
}

hold_await() {
    local fd n part runs line='' is_whole=''
    held_pid='' held_rank=''
    exec {fd}<>"$1/reached" # both ends: it is open before anybody writes, and stays so
    for ((n = 0; n < HOLD_LIMIT_S; n++)); do
        runs=1
        is_running "$2" || runs= # looked at first: it may have told, and then been killed
        part=
        ! IFS= read -r -t 1 part <&"$fd" || is_whole=1
        line+=$part # where the second ends in the middle of a line, this is the rest
        [ -z "$is_whole" ] || break
        [ -n "$runs" ] || fail "process $2 ended before it came to the point $1"
    done
    exec {fd}>&-
    [ -n "$is_whole" ] || fail "nobody came to the point $1 in $HOLD_LIMIT_S s"
    # shellcheck disable=SC2034 # for the caller
    read -r held_pid held_rank <<<"$line"
}

hold_go() {
    # Opening waits until the held process reads; one that is killed never does.
    # shellcheck disable=SC2016 # for the other shell
    timeout "$HOLD_LIMIT_S" bash -c 'echo >"$1/go"' bash "$1" || fail "nobody is held at $1"
}

hold_pass() {
    local fd i
    exec {fd}<>"$1/reached" # both stay open: what is in a FIFO is kept as long as somebody has it open
    exec {fd}<>"$1/go"
    for ((i = 0; i < 64; i++)); do echo >&"$fd"; done
}

draw_state=${draw_state:-1}
draw() {
    draw_state=$(((draw_state * 1103515245 + 12345) % 2147483648))
    # shellcheck disable=SC2034 # for the caller
    drawn=$((draw_state / 65536 % $1))
}

await_line() {
    timeout "$HOLD_LIMIT_S" tail -n +1 -F --pid="$3" -- "$2" 2>/dev/null | grep -qE -m1 -e "$1" ||
        grep -qE -e "$1" -- "$2" || fail "$2 has no line like \"$1\""
}

await_end() {
    local n
    for ((n = 0; n < HOLD_LIMIT_S * 20; n++)); do
        is_running "$1" || return 0
        sleep 0.05
    done
    fail "process $1 does not end"
}

# An mpirun of Open MPI 4.1 does not always end when a rank was killed, though all ranks have ended: it is given 20 s then.
run_ranks() {
    local point=$1 n=$2 name=run_ranks.hold f pid rank i
    local -a ranks=()
    shift 2
    f=$(hold_make "$name")
    GRADMARK_TEST_HOLD="$point=$f ${GRADMARK_TEST_HOLD-}" "$@" >out 2>err </dev/null &
    pid=$!
    for ((i = 0; i < n; i++)); do
        hold_await "$name" $pid
        ranks+=("$held_pid")
    done
    hold_pass "$name"
    for rank in "${ranks[@]}"; do await_end "$rank"; done
    for ((i = 0; i < 400; i++)); do
        is_running $pid || break
        sleep 0.05
    done
    ! is_running $pid || kill -KILL $pid
    # shellcheck disable=SC2034 # for the caller
    { wait $pid && code=0; } || code=$?
    rm -r -- "$name"
}

# Made of this shell's process id, which no other running process has. Ports below 32768: the kernel gives away none of them.
own_address() {
    echo "127.$((64 * ($1 + 1) + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))"
}
