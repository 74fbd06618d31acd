# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# overlap - a step with overlap beside the longer of computing and exchange alone
about="Makes 4 hosts of network namespaces (as root), each behind a link of RATE. Replays VGG-16 there, each tensor at 1/64 of its bytes and
each time at 1/4 of a P100's, so that a ring over 1 Gbit/s takes about as long as forward and backward pass. Measures in turns:

  compute    computing alone (mode none)
  exchange   the exchange alone, all gradients at once (the same profile, in which computing takes no time)
  pieces     the same in the pieces of off and on, --overlap off: over TCP it may be faster so
  apart      both, one after the other, all gradients at once, as without options
  off        both, --overlap on --priority off
  on         both, --overlap on --priority on

Prints how many times as long apart, off and on take as the longer of computing and the faster exchange, with the 95 % interval over
rounds (Student's t over logarithms), and what of the exchange was exposed and hidden. Takes some 5 minutes."
option rate RATE 1gbit any 'rate of each link, as for scripts/hosts'
option launches N 5 2-999 'rounds'
option steps N 40 5-9999 'steps of a launch'
option bucket-bytes N 256Ki any 'as for gradmark train'
option partition-bytes N 1Mi any 'as for gradmark train'
option transport NAME auto any 'as for gradmark train'
option limit R '' number 'promise: on takes at most R times as long as the longer one (goal: 1.10)'
option sim FILE '' file 'in simulation of this cluster'
kinds=(compute exchange pieces apart off on)

keep() { # KIND ROUND POSITION
    local records=$1-$2.jsonl profile=vgg16.json words=(--mode allreduce --transport "$transport")
    case $1 in
    compute) words=(--mode none) ;;
    exchange) profile=vgg16-exchange.json ;;
    pieces) profile=vgg16-exchange.json words+=(--overlap off --bucket-bytes "$bucket_bytes" --partition-bytes "$partition_bytes") ;;
    off) words+=(--overlap on --priority off --bucket-bytes "$bucket_bytes" --partition-bytes "$partition_bytes") ;;
    on) words+=(--overlap on --bucket-bytes "$bucket_bytes" --partition-bytes "$partition_bytes" --priority on) ;;
    esac
    on_hosts 4 4 train --model replay --profile $profile --workers 4 --steps "$steps" --out "$records" "${words[@]}" ${sim:+--compute hollow}
    printf '%s\n' "$2,$3,step,vgg16,-,$1,$(value step_mean_s "$records"),$(value exposed_comm_s "$records"),$(value hidden_comm_s "$records")" >>launches.csv
}

launches() {
    shrunk_profile vgg16 64 4 vgg16.json
    python3 - <<'PYTHON'
import json
p = json.load(open('vgg16.json'))
for layer in p['layers']:
    layer['forward_ns'] = layer['backward_ns'] = 0
p['source'] = ('computing takes no time: ' + p['source'])[:500]
json.dump(p, open('vgg16-exchange.json', 'w'))
PYTHON
    printf 'round,position,what,model,unused,kind,step_s,exposed_comm_s,hidden_comm_s\n' >launches.csv
    in_turns "$launches" keep "${kinds[@]}"
}

table() {
    local code=0 longer kind
    longer=$(python3 - <<'PYTHON'
import csv, math
rows = list(csv.DictReader(open('launches.csv')))
def mean(kind): return sum(math.log(float(r['step_s'])) for r in rows if r['kind'] == kind)
print(max(('compute', min(('exchange', 'pieces'), key=mean)), key=mean))
PYTHON
    )
    for kind in apart off on; do ratios $kind "$longer" 7 launches.csv | sed "s/^/$kind /"; done >ratios.txt
    python3 - "${sim:-4 hosts behind links of $rate each}" "$longer" "${limit:-none}" "$bucket_bytes" "$partition_bytes" <<'PYTHON' || code=$?
import csv, statistics, sys
where, longer, limit, bucket, partition = sys.argv[1:]
rows = list(csv.DictReader(open('launches.csv')))
def mean_ms(kind, column): return 1e3 * statistics.mean(float(r[column]) for r in rows if r['kind'] == kind)
ratio = {w[0]: [float(x) for x in w[5:8]] for w in map(str.split, open('ratios.txt'))}
what = {'compute': 'computing alone', 'exchange': 'exchange alone, at once', 'pieces': 'exchange alone, in pieces', 'apart': 'one after the other', 'off': 'overlap on, priority off',
        'on': 'overlap on, priority on'}
print('A step of VGG-16 with 1/64 of its bytes and 1/4 of its times, 4 workers on %s; buckets of %s, pieces of %s; ms.' % (
    where, bucket, partition))
print('%-26s %8s %8s %9s %8s %16s  %s' % ('step', 'launches', 'mean', 'exposed', 'hidden', '/ ' + longer, '95 % interval'))
for kind in what:
    r = ratio.get(kind)
    print('%-26s %8d %8.1f %9.1f %8.1f %16s  %s' % (
        what[kind], sum(x['kind'] == kind for x in rows), mean_ms(kind, 'step_s'), mean_ms(kind, 'exposed_comm_s'),
        mean_ms(kind, 'hidden_comm_s'), '%.3f' % r[0] if r else '', '%.3f .. %.3f' % (r[1], r[2]) if r else ''))
if limit != 'none':
    kept = ratio['on'][0] <= float(limit)
    print('%s: with overlap and priority a step takes at most %s times as long as the longer of the two' % ('kept' if kept else 'BROKEN', limit))
    sys.exit(0 if kept else 1)
PYTHON
    rm ratios.txt
    return $code
}
