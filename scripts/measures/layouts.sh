# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# layouts - a ring, servers, stages and shards at one global batch on 4 hosts, beside their prediction
about="Makes 4 hosts of network namespaces (as root), each behind a link of RATE. Replays VGG-16 there, each tensor at 1/8 of its bytes
and at a P100's times, with the same samples in a step:

  ring       layout 4x1x1, gradients by a ring
  ps         layout 4x1x1, gradients by synchronous parameter servers, one beside each worker
  pipeline   layout 1x4x1, activations from stage to stage
  hybrid     layout 2x2x1, both, gradients by a ring
  shards     layout 4x1x4, the dense layers in 4 shards, the other gradients by a ring

Predicts each before, by the same command in simulation of 4 hosts behind links of RATE. Prints measured and predicted step times, and
which is the fastest. Nothing is encrypted, as no description knows what that costs here. Takes some 8 minutes."
option rate RATE 1gbit any 'rate of each link, as for scripts/hosts'
option launches N 2 1-999 'rounds'
option steps N 12 2-9999 'steps of a launch; the first one opens connections and is slower'
option global-batch N 128 4-999999 'samples of a step'
option micro-batches N 16 1-99999 'micro-batches of a pipeline'
option limit P '' number 'promise: predictions are within P % and name the fastest (goal: 10)'
option sim FILE '' file 'in simulation of this cluster, by which it predicts, too'
ways=(ring ps pipeline hybrid shards)

check() {
    [ $((global_batch % 4)) -eq 0 ] || refuse "--global-batch $global_batch: must be a multiple of 4"
    [ $((global_batch % (2 * micro_batches))) -eq 0 ] || refuse "--micro-batches $micro_batches: must divide half of --global-batch, $global_batch"
}

# replay WAY RANKS FILE: on 4 hosts; its records in FILE
replay() {
    local -A how=(
        [ring]='--layout 4x1x1 --mode allreduce --reducer ring'
        [ps]='--layout 4x1x1 --mode ps --consistency sync --servers 4 --colocate'
        [pipeline]="--layout 1x4x1 --mode single --accumulate $micro_batches"
        [hybrid]="--layout 2x2x1 --mode allreduce --reducer ring --accumulate $micro_batches"
        [shards]='--layout 4x1x4 --mode allreduce --reducer ring'
    )
    local its words
    read -ra its <<<"${how[$1]}"
    words=(train --model replay --profile vgg16.json --global-batch "$global_batch" --steps "$steps" "${its[@]}" --out "$3")
    if [ -n "$sim" ]; then words+=(--compute hollow); else words+=(--insecure); fi
    on_hosts 4 "$2" "${words[@]}"
}
keep() { # WAY ROUND POSITION
    local ranks=4
    [ "$1" != ps ] || ranks=8
    replay "$1" $ranks "$1-$2.jsonl"
    printf '%d,%d,%s,%s\n' "$2" "$3" "$1" "$(value step_mean_s "$1-$2.jsonl")" >>launches.csv
}

launches() {
    local way
    shrunk_profile vgg16 8 1 vgg16.json
    if [ -n "$sim" ]; then
        cp "$sim" cluster.yaml
    else
        python3 - "$rate" >cluster.yaml <<'PYTHON' || refuse "--rate $rate: must be as tc spells it, such as 200mbit or 2.5gbit"
import re, sys
number, unit = re.fullmatch(r'([0-9.]+)([kmg])bit', sys.argv[1]).groups()
print('name: links\nhosts_count: 0\nranks_per_host_count: 1')
print('link_bits_per_s: %.9g # given: scripts/hosts; of each frame of 1514 bytes 1448 are what TCP carries' %
      (float(number) * {'k': 1e3, 'm': 1e6, 'g': 1e9}[unit] * 1448 / 1514))
print('link_latency_s: 30e-6 # assumed: as between namespaces of one machine')
print('memory_bytes_per_s: 10e9 # assumed\nflops_per_s: 20e9 # of nothing: what is replayed passes as recorded')
PYTHON
    fi
    for way in "${ways[@]}"; do
        tell "predicting $way"
        sim=$PWD/cluster.yaml replay "$way" 4 "predicted-$way.jsonl"
    done
    printf 'round,position,way,step_s\n' >launches.csv
    in_turns "$launches" keep "${ways[@]}"
}

table() {
    python3 - "${sim:-4 hosts behind links of $rate each}" "${limit:-none}" "$global_batch" "${ways[@]}" <<'PYTHON'
import csv, json, sys
where, limit, batch, ways = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
where = where if where.startswith('4 hosts') else 'a simulated cluster'
rows = list(csv.DictReader(open('launches.csv')))
def records(path): return [json.loads(line) for line in open(path)]
def summary(path): return next(r for r in records(path) if r['kind'] == 'summary')
profile = json.load(open('vgg16.json'))
params_bytes = 4 * sum(t['n_elems'] for layer in profile['layers'] for t in layer['tensors'])
print('A step of %d images of VGG-16 with 1/8 of its bytes (%.1f MB of parameters) on %s; s.' % (batch, params_bytes / 1e6, where))
print('%-9s %8s %9s %9s %7s %10s  %s' % ('way', 'launches', 'measured', 'predicted', 'error', 'efficiency', 'what it moves in a step'))
measured, predicted = {}, {}
alone_s = sum(l['forward_ns'] + l['backward_ns'] for l in profile['layers']) / 1e9 * batch / profile['batch']
for way in ways:
    steps = [float(r['step_s']) for r in rows if r['way'] == way]
    measured[way] = sum(steps) / len(steps)
    found = summary('predicted-%s.jsonl' % way)
    predicted[way] = found['step_mean_s']
    stages = [r for r in records('predicted-%s.jsonl' % way) if r['kind'] == 'stage']
    shards = [r for r in records('predicted-%s.jsonl' % way) if r['kind'] == 'shard']
    if stages:
        parts = next(r for r in records('predicted-%s.jsonl' % way) if r['kind'] == 'manifest')['options']['accumulate']
        moves = '%.1f MB of activations each way over the busiest link; bubble %.0f %%, most expensive stage %.2f x the mean' % (
            max(s['passed_bytes'] for s in stages) * parts * found['workers_count'] / 1e6, 100 * found['bubble_ratio'],
            found['stage_imbalance_ratio'])
    elif shards:
        common = max(r['params_count'] - r['dense_params_count'] for r in shards)
        moves = '%.1f MB of activations and their gradients, %.1f MB of other gradients each way over a link' % (
            max(r['gathered_bytes_per_step'] + r['scattered_bytes_per_step'] for r in shards) / 1e6, 1.5 * 4 * common / 1e6)
    else:
        moves = '%.1f MB of gradients and parameters each way over a link' % (2 * 3 / 4 * params_bytes / 1e6)
    print('%-9s %8d %9.3f %9.3f %+5.1f %% %8.1f %%  %s' % (way, len(steps), measured[way], predicted[way],
                                                         100 * (predicted[way] / measured[way] - 1),
                                                         100 * alone_s / 4 / measured[way], moves))
fastest, named = min(measured, key=measured.get), min(predicted, key=predicted.get)
print('verdict: %s is predicted to be the fastest, %s is' % (named, fastest if named != fastest else 'and it'))
if limit != 'none':
    errors = [abs(predicted[w] / measured[w] - 1) for w in ways]
    kept = 100 * max(errors) <= float(limit) and named == fastest
    print('%s: predictions are within %s %% of the measured steps, and name the fastest' % ('kept' if kept else 'BROKEN', limit))
    sys.exit(0 if kept else 1)
PYTHON
}
