# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# rank_order - the bus bandwidth in the order of ranks that accept found best, beside the given order
about="Makes hosts of network namespaces (as root), each behind a link of RATE, with several ranks each. Runs gradmark accept --stages
pairwise,collectives there, in turns with ranks numbered host by host (mpirun --map-by slot), dealt out to hosts (--map-by node), and in
the order that the latter found best (--map-by seq, rank_order.hosts of its bundle). Prints the bus bandwidth of an allreduce in the
launcher's order of each, and what the dealt-out launch said that the best order would give, beside what the next launch then had: means
over launches with 95 % intervals (Student's t over logarithms)."
option hosts N 4 2-32 'hosts'
option ranks N 2 2-16 'ranks of each host'
option rate RATE 1gbit any 'rate of each link, as for scripts/hosts'
option bytes N 4194304 4-4000000000 'bytes of the vector'
option launches N 5 1-999 'launches of each kind'
option least-gain X '' number 'promise: every dealt-out launch finds an order X times as fast, none host by host finds a faster one'

# accept KIND MPIRUN_OPTION...: its bundle in ./KIND
accept() {
    local kind=$1 code=0
    shift
    rm -rf "$kind"
    "$scripts/hosts" --slots "$ranks" "$hosts" "$rate" mpirun "$@" -np $((hosts * ranks)) "$program" accept --stages pairwise,collectives \
        --criteria-set "pairwise_message_bytes=1048576,collective_bytes=$bytes,rank_order_bytes=$bytes" --interface eth0 --wait sleep \
        --out "$kind" >log.txt 2>&1 || code=$?
    # A verdict of any kind is one: two hosts are too few to pass the pairwise stage.
    [ -s "$kind/rank_order.hosts" ] || ended $((code ? code : 1)) "$kind: no orders"
}

# keep LAUNCH KIND: a line for each order that was measured
keep() {
    python3 - "$@" <<'PYTHON' >>launches.csv
import json, sys
launch, kind = sys.argv[1:]
for r in map(json.loads, open(kind + '/acceptance.jsonl')):
    if r['kind'] == 'rank_order' and r['repeats_count'] > 0:
        print(launch, kind, r['order'], int(r['is_best']), '%.6g' % r['bytes_per_s'], '%.6g' % r['ratio'],
              '%.6g' % r['low_ratio'], '%.6g' % r['high_ratio'], r['repeats_count'], sep=',')
PYTHON
}

launches() {
    local i
    printf 'launch,placed,order,is_best,bytes_per_s,ratio,low_ratio,high_ratio,repeats\n' >launches.csv
    for ((i = 1; i <= launches; i++)); do
        tell "launch $i of $launches of each kind"
        accept slot --map-by slot
        keep "$i" slot
        accept node --map-by node
        keep "$i" node
        accept best --map-by seq --hostfile "$PWD/node/rank_order.hosts"
        keep "$i" best
    done
}

table() {
    python3 - "${least_gain:-none}" "$hosts hosts with $ranks ranks each, behind links of $rate" "$bytes" <<'PYTHON'
import csv, math, sys
least_gain, where, n_bytes = sys.argv[1:]
rows = list(csv.DictReader(open('launches.csv')))
T = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]
def mean(x):  # geometric, with half of the interval as a ratio
    logs = [math.log(v) for v in x]
    m, n = sum(logs) / len(logs), len(logs)
    if n < 2:
        return math.exp(m), None
    t = T[n - 1] if n - 1 < len(T) else 2.228
    return math.exp(m), math.exp(t * math.sqrt(sum((v - m) ** 2 for v in logs) / (n - 1) / n))
def text(x, unit, scale=1):
    m, half = mean([v * scale for v in x])
    return '%.4g%s' % (m, unit) if half is None else '%.4g%s (%.4g to %.4g)' % (m, unit, m / half, m * half)
def of(kind, **want):
    return [r for r in rows if r['placed'] == kind and all(r[k] == v for k, v in want.items())]
def rates(kind):
    return [float(r['bytes_per_s']) for r in of(kind, order='launcher')]
print('allreduce of %s bytes on %s' % (n_bytes, where))
names = {'slot': 'ranks numbered host by host', 'node': 'ranks dealt out to hosts', 'best': 'in the order that the latter found best'}
for kind, name in names.items():
    print('%-40s %s' % (name, text(rates(kind), ' Mbyte/s', 1e-6)))
said = [float(r['ratio']) for r in of('node', is_best='1')]
found = [b / n for b, n in zip(rates('best'), rates('node'))]
print('%-40s %s' % ('gain, as one launch said', text(said, '')))
print('%-40s %s' % ('gain, from launch to launch', text(found, '')))
print('%-40s %s' % ('best of those dealt out', ', '.join(r['order'] for r in of('node', is_best='1'))))
print('%-40s %s' % ('best of those host by host', ', '.join(r['order'] for r in of('slot', is_best='1'))))
if least_gain != 'none':
    kept = min(said) >= float(least_gain) and all(r['order'] == 'launcher' for r in of('slot', is_best='1'))
    print('%s: each one dealt out could be %s times as fast, none host by host faster' % ('kept' if kept else 'BROKEN', least_gain))
    sys.exit(0 if kept else 1)
PYTHON
}
