# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# stragglers - time to a loss with slow workers: synchronous beside asynchronous servers
about="Trains linear and lenet with real arithmetic in simulation. Some workers compute several times as long as the others. Four
rules of one server:

  sync       each update waits for all workers
  backup     sync:B, B = --slow: each update waits for all but the B latest, whose gradients are dropped
  ssp4       each gradient is applied as it comes; no worker is more than 4 steps ahead of the slowest
  async      each gradient is applied as it comes

DIR/linear and DIR/lenet are folders of scripts/sweep. Learning rates are good ones of those tried for 512 workers. Links are fast
(100 Gbit/s) and devices slow (a step computes for 9 ms), so workers wait for computing. Takes 10 minutes on 2 cores."
option workers N 512 2-99999 'workers'
option slow N 16 1-99998 'of these are slow'
option ratios LIST 1,4,16 any 'times as slow'
option jobs N "$(nproc)" 1-999 'simulations at a time'

check() { [ "$slow" -lt "$workers" ] || refuse "--slow $slow: must be below --workers, $workers"; }

# compare MODEL FLOPS TARGET SYNC_RATE ASYNC_RATE SYNC_STEPS ASYNC_STEPS OPTION...
compare() {
    local model=$1 flops=$2 target=$3 sync=$4 async=$5 n_sync=$6 n_async=$7
    local cluster=link_bits_per_s=100e9,link_latency_s=5e-6,server_memory_bytes_per_s=100e9,stragglers_count=$slow
    shift 7
    tell "$model"
    launch "$model" "$scripts/sweep" --program "$program" --jobs "$jobs" --over "straggler_ratio=$ratios" \
        --way "sync:--consistency sync --lr $sync --steps $n_sync" \
        --way "async:--consistency async --lr $async --momentum 0 --steps $n_async" \
        --way "backup:--consistency sync:$slow --lr $sync --steps $n_sync" \
        --way "ssp4:--consistency ssp:4 --lr $async --momentum 0 --steps $n_async" \
        "$model" -- --model "$model" --mode ps --workers "$workers" --target-loss "$target" \
        --eval-samples 0 --record-every 5 --cluster-set "$cluster,flops_per_s=$flops" "$@"
}

launches() {
    compare lenet 5e8 0.5 0.05 0.0005 26 64 --batch 8
    compare linear 5e4 0.1 0.5 0.001 40 60
}

table() { awk 'FNR == 1 { sub("/.*", "", FILENAME); print FILENAME } { print }' lenet/sweep.tsv linear/sweep.tsv; }
