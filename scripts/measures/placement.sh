# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# placement - a step with whole tensors on servers beside one with tensors cut evenly
about="Makes 8 hosts of network namespaces (as root), each behind a link of RATE: 4 workers and 4 parameter servers. Replays VGG-16
there, each tensor at 1/8 of its bytes and each time at 1/8 of a P100's, with --placement split (evenly by bytes) and whole (a tensor is
never cut, so one server has all of fc6/w), in pairs; with --consistency sync and async.

Prints how many times as long a step takes with whole as with split, its 95 % interval over pairs (Student's t over logarithms), the
ratio of the bounds, and the hottest server and tensor. In async a push and a pull use a link at once, in both directions. That hides
part of the hot server's load, so async is not held to the limit. Takes some 10 minutes."
option rate RATE 1gbit any 'rate of each link, as for scripts/hosts'
option launches N 4 2-999 'pairs of launches'
option steps N 12 5-9999 'steps of a launch'
option limit P '' number "promise: fc6/w's server is the hottest, and the ratio of sync is within P % of the bounds' (goal: 15)"
option sim FILE '' file 'in simulation of this cluster'

keep() { # PLACEMENT PAIR POSITION
    local records=$consistency-$1-$2.jsonl
    on_hosts 8 8 train --model replay --profile vgg16.json --mode ps --workers 4 --servers 4 --consistency "$consistency" --placement "$1" \
        --steps "$steps" --out "$records" ${sim:+--compute hollow}
    python3 - "$@" "$consistency" "$records" <<'PYTHON' >>launches.csv
import json, sys
placement, pair, position, consistency, records = sys.argv[1:]
s = [r for r in map(json.loads, open(records)) if r['kind'] == 'summary'][0]
bound_s = s['workers_count'] * s['batch_per_worker_count'] / s['bound_samples_per_s']
print(pair, position, 'ps', consistency, '-', placement, '%.9g' % s['step_mean_s'], '%.9g' % bound_s, s['hot_server_index'],
      s['hot_tensor'], s['hot_server_bytes'], sep=',')
PYTHON
}

launches() {
    shrunk_profile vgg16 8 8 vgg16.json
    printf 'pair,position,mode,consistency,unused,placement,step_s,bound_step_s,hot_server_index,hot_tensor,hot_server_bytes\n' >launches.csv
    for consistency in sync async; do in_turns "$launches" keep split whole; done
}

table() {
    local code=0
    ratios whole split 7 launches.csv >measured
    ratios whole split 8 launches.csv >bounds
    python3 - "${sim:-8 hosts behind links of $rate each}" "${limit:-none}" <<'PYTHON' || code=$?
import csv, statistics, sys
where, limit = sys.argv[1:3]
def ratios(path): # of the line "ps CONSISTENCY - n ratio low high ..."
    return {w[1]: [float(x) for x in w[4:7]] for w in map(str.split, open(path))}
measured, bounds, rows = ratios('measured'), ratios('bounds'), list(csv.DictReader(open('launches.csv')))
print('A step of VGG-16 with 1/8 of its bytes, 4 workers and 4 servers on %s; s.' % where)
print('%-11s %5s %8s %8s %14s %-18s %14s %7s  %s' % ('consistency', 'pairs', 'split', 'whole', 'whole / split', '95 % interval',
                                                     'of the bounds', 'error', 'hottest of whole'))
kept = True
for c in ('sync', 'async'):
    def steps(placement): return [float(r['step_s']) for r in rows if r['consistency'] == c and r['placement'] == placement]
    hot = {(r['hot_server_index'], r['hot_tensor']) for r in rows if r['consistency'] == c and r['placement'] == 'whole'}
    error = 100 * (measured[c][0] / bounds[c][0] - 1)
    print('%-11s %5d %8.3f %8.3f %14.3f %-18s %14.3f %+5.1f %%  %s' % (
        c, len(steps('split')), statistics.mean(steps('split')), statistics.mean(steps('whole')), measured[c][0],
        '%.3f .. %.3f' % tuple(measured[c][1:3]), bounds[c][0], error, ', '.join('server %s by %s' % h for h in sorted(hot))))
    if limit != 'none':
        kept = kept and {tensor for _, tensor in hot} == {'fc6/w'} and (c == 'async' or abs(error) <= float(limit))
if limit != 'none':
    print("%s: the hottest server is fc6/w's, and in sync the measured ratio is within %s %% of the bounds'" % ('kept' if kept else 'BROKEN', limit))
    sys.exit(0 if kept else 1)
PYTHON
    rm measured bounds
    return $code
}
