# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# hold.sh - functions for shell tests that wait for a fact, never for a moment. The calling test defines fail().
#
#   hold_make NAME                  Create the folder NAME with the two FIFOs of one hold. Prints its absolute path.
#   hold_await NAME PID             Wait until a process is held at NAME. Sets held_pid and held_rank. Fails if PID, the
#                                   process that the test started, ends first.
#   hold_go NAME                    Release the held process.
#   hold_pass NAME                  Release the held process, and let all later ones pass without waiting. hold_await
#                                   still reports them.
#   draw N                          Set drawn to a pseudorandom number below N. It depends on draw_state (a seed) alone.
#   await_line PATTERN FILE PID     Wait until a line of FILE matches the extended regular expression. Fails if process
#                                   PID ends without such a line.
#   await_end PID                   Wait until a process has ended, even if its parent has not reaped it.
#   end_process PID                 End a process that the test started: SIGTERM, by which a launcher ends its ranks, and
#                                   SIGKILL if it is still there after HOLD_LIMIT_S / 10.
#   await_no_process TEXT           Wait until no process has TEXT in its command line: a launcher may end before a rank
#                                   that it has killed. Prints "a process was left" if one stays.
#   ownerless_files                 Print the names of shared memory (world.H8) whose owner has ended, one per line. A
#                                   process that runs holds the lock of each of its names.
#   run_ranks POINT N COMMAND...    Run an mpirun that must fail. N ranks reach POINT:RANK:N. Sets code to its exit status.
#                                   Fails if a rank does not end. Writes standard output to out, standard error to err.
#   own_address N                   Print a loopback address that no other test uses, N from 0 to 2. All its ports are free.
#
#   f=$(hold_make at_50)
#   GRADMARK_TEST_HOLD="step:1:50=$f" "$held_gradmark" train ... & pid=$!
#   hold_await at_50 $pid; kill -KILL "$held_pid"
#
# The points, and the meaning of N:
#   start, probe, serve, step, end   train; N: the step, counted over the whole training
#   connected, joined  world tcp; N: 0. The process has a connection with rank 0; all are there, and the world opens
#   exchange         train; N: the step. The worker has its gradient, and its exchange is under way
#   trained          train; N: the steps that this worker has begun. Its last step has ended; other workers may still train
#   write            train; N: 0 before rank 0 writes what the run leaves, 1 between records and checkpoint with --restarts,
#                    2 when both are written; rank 0
#   push             train; N: the step of a push that this server received and has not applied
#   tune             train --autotune; N: the step over all trials, from 0. Trials do not reach the points above
#   launch           compare; N: the launch that begins, in the order of the campaign; on every rank
#   lab              lab all; N: the index of the lab that begins
#   take             compare; N: the launches that are kept. One more has ended, and its records are not read yet; rank 0
#   kept             compare; N: the launch that was just kept. Its own file still exists; rank 0
#                    simulate, reproduce; N: the simulations that are kept
#   plan             simulate, reproduce; N: 0. FOLDER.partial exists, and plan.json is not written yet
#   warmup, measure  profile; N: the step that begins, from 0 in each of the two
#   shard            pack; N: the shards that are written
#   size             comm; N: the index in --bytes of the size that begins
#   stage            accept; N: the index of the stage that begins, in the order of --help-all (1: compute, 2: noise)
#   trial            accept --self-test in threads or sim; N: the trial that begins, from 0; rank 0
#
# HOLD_LIMIT_S ends a test that hangs; no result depends on it. A held process ends when the folder of its hold is removed.
HOLD_LIMIT_S=600

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

end_process() {
    local n
    kill -TERM "$1" 2>/dev/null || return 0
    for ((n = 0; n < HOLD_LIMIT_S; n++)); do
        is_running "$1" || return 0
        sleep 0.1
    done
    kill -KILL "$1" 2>/dev/null || true
}

await_no_process() {
    local n
    for ((n = 0; n < HOLD_LIMIT_S * 10; n++)); do
        pgrep -f -- "$1" >/dev/null || return 0
        sleep 0.1
    done
    echo 'a process was left'
}

ownerless_files() {
    local file
    for file in /dev/shm/gradmark-share-*; do
        if { flock --nonblock 9; } 2>/dev/null 9<"$file" && [ -e "$file" ]; then echo "$file"; fi
    done
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
    end_process $pid
    # shellcheck disable=SC2034 # for the caller
    { wait $pid && code=0; } || code=$?
    rm -r -- "$name"
}

# Made of this shell's process id, which no other running process has, and of the namespace of that: the new machines of
# .ci/run share the loopback. Ports below 32768: the kernel gives away none of them.
own_address() {
    local space key
    space=$(readlink /proc/self/ns/pid) || true
    space=${space//[!0-9]/}
    key=$(($$ ^ (${space:-0} % 1048576 * 2654435761 >> 8)))
    echo "127.$((64 * ($1 + 1) + key / 65536 % 64)).$((key / 256 % 256)).$((key % 256))"
}
