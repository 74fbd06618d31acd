# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# push_pull - push and pull over TCP, beside an echo by bare ZeroMQ and beside ps-lite
about="Runs gradmark comm ps with 1 worker and 1 server, two processes of this machine, over TCP. With --ps-lite it runs ps-lite's own
benchmark in turns with it: 1 worker, 1 server and a scheduler, its PUSH_PULL mode, 1 key. The server of gradmark adds each gradient
to the parameters. The server of ps-lite's benchmark only answers. Prints the goodput of both (what goes up and comes back counts
once), gradmark's part of the echo by ZeroMQ alone, and the ratio gradmark / ps-lite with its 95 % interval over pairs of launches."
option bytes LIST 64Ki,256Ki,1Mi,4Mi,64Mi any 'sizes, with Ki or Mi'
option budget-s N 2 1-600 'seconds of each size and launch, about'
option launches N 10 2-999 'pairs of launches of each size'
option ps-lite FILE '' file 'test_benchmark of BytePS ps-lite: make in its sources'

n_bytes_of() { numfmt --from=iec-i "$1" 2>log.txt || refuse "--bytes $1: must be a size, such as 256Ki or 4Mi"; }
check() {
    local one
    for one in ${bytes//,/ }; do n_bytes_of "$one" >/dev/null; done
    [ -z "$ps_lite" ] || ps_lite=$(realpath "$ps_lite")
}

gradmark_side() { # prints GB/s, and the part of the echo
    launch "gradmark, $its_size" "$program" launch -np 2 -- comm ps --bytes "$its_size" --budget-s "$budget_s" --records records
    python3 -c '
import json
row = next(r for r in map(json.loads, open("records")) if r.get("operation") == "push_pull")
print("%.9g,%.9g" % (row["goodput_bytes_per_s"] / 1e9, row["of_bound_ratio"]))'
    rm records
}

ps_lite_side() { # prints GB/s: the median of 5 parts of the launch
    local n role pids=()
    n=$((budget_s * 200000000 / $(n_bytes_of "$its_size") + 2))
    export DMLC_PS_ROOT_PORT
    DMLC_PS_ROOT_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export DMLC_PS_ROOT_URI=127.0.0.1 DMLC_NODE_HOST=127.0.0.1 DMLC_INTERFACE=lo DMLC_ENABLE_RDMA=zmq BYTEPS_ENABLE_IPC=0 \
        DMLC_NUM_WORKER=1 DMLC_NUM_SERVER=1 DMLC_GROUP_SIZE=1 NUM_KEY_PER_SERVER=1 LOG_DURATION=$n TOTAL_DURATION=$((5 * n))
    for role in scheduler server; do
        DMLC_ROLE=$role "$ps_lite" "$(n_bytes_of "$its_size")" 1 1 >$role.txt 2>&1 &
        pids+=($!)
    done
    DMLC_ROLE=worker launch "ps-lite, $its_size" timeout $((budget_s * 30 + 60)) "$ps_lite" "$(n_bytes_of "$its_size")" 1 1
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
    rm scheduler.txt server.txt
    sed -nE 's/.*Application goodput: ([0-9.e+]+) Gbps.*/\1/p' log.txt | sort -g | awk '{ v[NR] = $1 } END { printf "%.9g,\n", v[int((NR + 1) / 2)] / 8 }'
}

one_side() { # SIDE ROUND POSITION
    local figures
    case $1 in
    gradmark) figures=$(gradmark_side) ;;
    ps-lite) figures=$(ps_lite_side) ;;
    esac
    printf '%s\n' "$2,$3,$its_size,ps,1,$1,$figures" >>launches.csv
}

launches() {
    printf 'pair,position,bytes,mode,workers,side,goodput_gbytes_per_s,of_echo_ratio\n' >launches.csv
    for its_size in ${bytes//,/ }; do in_turns "$launches" one_side gradmark ${ps_lite:+ps-lite}; done
}

table() {
    # shellcheck disable=SC2016 # fields of awk
    local median='{ v[NR] = $1 } END { m = int((NR + 1) / 2); printf "%.3f", NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }' its_size one
    of() { awk -F, -v size="$1" -v side="$2" -v column="$3" '$3 == size && $6 == side { print $column }' launches.csv | sort -g | awk "$median"; }
    printf '%-8s %14s %12s %14s  %s\n' size 'gradmark, GB/s' 'of the echo' 'ps-lite, GB/s' 'gradmark / ps-lite (95 %)'
    for its_size in ${bytes//,/ }; do
        one=''
        [ -z "$ps_lite" ] || one=$(ratios gradmark ps-lite 7 launches.csv | awk -v size="$its_size" '$1 == size { printf "%.2f (%.2f to %.2f)", $5, $6, $7 }')
        printf '%-8s %14s %12s %14s  %s\n' "$its_size" "$(of "$its_size" gradmark 7)" "$(of "$its_size" gradmark 8)" \
            "$([ -z "$ps_lite" ] || of "$its_size" ps-lite 7)" "$one"
    done
    printf 'Medians of %d launches; the ratio is the geometric mean of pairs.\n' "$launches"
}
