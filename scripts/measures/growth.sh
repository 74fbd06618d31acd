# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# growth - what a rank costs as ranks are added: step time, memory, messages
about="Replays ResNet-50 with 1/8 of its bytes and 1/8 of a P100's times: with allreduce and with one parameter server, on 1 to HERE
ranks in threads of this machine, and on 1 to SIM ranks in simulation (ring; 16 servers, or one for each worker of fewer).

Prints the step time, the resident memory of all ranks (in simulation: of the program), the messages of a step, and how many a second
are simulated. Below, how each grows: the slope of its logarithm over the logarithm of the ranks, between the last two rows, beside
what theory says. Writes growth.png if gnuplot is there. Takes some 10 minutes."
option here HERE 16 2-256 'most workers in threads; powers of two up to it are tried'
option sim SIM 4096 16-65536 'most workers in simulation; powers of four up to it are tried'
option rounds N 3 1-99 'launches of each row; the median counts'
option steps N 5 2-999 'steps of a launch in threads'

# grown WHERE MODE WORKERS ROUND OPTION...: one launch, and its line of launches.csv
grown() {
    local where=$1 mode=$2 workers=$3 round=$4
    shift 4
    tell "$where, $mode, $workers workers, round $round of $rounds"
    rm -f records.jsonl cost.json
    python3 - "$where" "$mode" "$workers" "$round" "$program" train --model replay --profile resnet50.json --mode "$mode" \
        --workers "$workers" --out records.jsonl "$@" >>launches.csv 2>log.txt <<'PYTHON' || refuse "$where, $mode, $workers workers: $(tail -n 1 log.txt)"
import json, resource, subprocess, sys
where, mode, workers, number = sys.argv[1:5]
done = subprocess.run(sys.argv[5:], stdout=subprocess.DEVNULL)
if done.returncode:
    sys.exit(1)
resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
summary = next(r for r in map(json.loads, open('records.jsonl')) if r['kind'] == 'summary')
cost = json.load(open('cost.json')) if where == 'sim' else {}
steps = summary['steps_count']
print(where, mode, workers, number, '%.6g' % summary['step_mean_s'], resident, summary['planned_memory_bytes'] or '',
      '%.0f' % (cost['messages_count'] / steps) if cost else '', '%.0f' % cost['messages_per_s'] if cost else '', sep=',')
PYTHON
}

launches() {
    local round workers mode servers
    shrunk_profile resnet50 8 8 resnet50.json
    cat >cluster.yaml <<'YAML'
name: growth
hosts_count: 65536
ranks_per_host_count: 2
link_bits_per_s: 25e9
link_latency_s: 10e-6
memory_bytes_per_s: 1e11
flops_per_s: 1e12
YAML
    printf 'where,mode,workers,round,step_s,resident_bytes,planned_bytes,messages_per_step,messages_per_s\n' >launches.csv
    for ((round = 1; round <= rounds; round++)); do
        for ((workers = 1; workers <= here; workers *= 2)); do
            for mode in allreduce ps; do grown threads $mode $workers $round --world threads --steps "$steps"; done
        done
        for ((workers = 1; workers <= sim; workers *= 4)); do
            servers=$((workers < 16 ? workers : 16))
            grown sim allreduce $workers $round --world sim --compute hollow --cluster cluster.yaml --steps 2 --cost cost.json --reducer ring
            grown sim ps $workers $round --world sim --compute hollow --cluster cluster.yaml --steps 2 --cost cost.json --servers $servers
        done
    done
    rm -f records.jsonl cost.json
}

# Rows: where mode ranks, and the medians of step_s, resident_bytes, planned_bytes, messages_per_step, messages_per_s
table() {
    python3 - "$(nproc)" <<'PYTHON' || return 2
import csv, math, statistics, sys
cores = int(sys.argv[1])
columns = ('step_s', 'resident_bytes', 'planned_bytes', 'messages_per_step', 'messages_per_s')
launches = {}
for row in csv.DictReader(open('launches.csv')):
    launches.setdefault((row['where'], row['mode'], int(row['workers'])), []).append(row)
def median(rows, column):
    values = [float(r[column]) for r in rows if r[column]]
    return statistics.median(values) if values else None
rows = {key: {c: median(found, c) for c in columns} for key, found in sorted(launches.items())}
def shown(value, unit=1, digits=4):
    return '-' if value is None else '%.*g' % (digits, value / unit)
print('ResNet-50 with 1/8 of its bytes, %d cores; medians.' % cores)
print('%-8s %-10s %7s %10s %12s %14s %14s' % ('where', 'mode', 'workers', 'step, ms', 'memory, MB', 'messages/step', 'messages/s'))
for (where, mode, workers), r in rows.items():
    print('%-8s %-10s %7d %10s %12s %14s %14s' % (where, mode, workers, shown(r['step_s'], 1e-3), shown(r['resident_bytes'], 1e6),
          shown(r['messages_per_step'], 1, 9), shown(r['messages_per_s'], 1, 3)))
print()
print('%-8s %-10s %-18s %8s  %s' % ('where', 'mode', 'of', 'slope', 'theory'))
def slope(where, mode, column):
    (n, last), (m, before) = sorted(((k[2], r[column]) for k, r in rows.items() if k[:2] == (where, mode)), reverse=True)[:2]
    return math.log(last / before) / math.log(n / m)
theory = {('threads', 'allreduce', 'step_s'): '1: the workers share %d cores' % cores,
          ('threads', 'ps', 'step_s'): '1: the workers share %d cores' % cores,
          ('sim', 'allreduce', 'messages_per_step'): '2: each of W workers sends 2 (W - 1) messages for a bucket',
          ('sim', 'ps', 'messages_per_step'): '1: each worker pushes and pulls as many messages',
          ('sim', 'allreduce', 'messages_per_s'): '0: each message costs the same',
          ('sim', 'ps', 'messages_per_s'): '0: each message costs the same'}
for (where, mode, column), says in sorted(theory.items()):
    print('%-8s %-10s %-18s %8.2f  %s' % (where, mode, column, slope(where, mode, column), says))
print()
print('Memory of one worker more, with all that the server keeps for it, MB: between the last two rows.')
for where, mode in sorted({k[:2] for k in rows}):
    (n, a), (m, b) = [(k[2], r) for k, r in rows.items() if k[:2] == (where, mode)][-1:-3:-1]
    def more(column):
        return (a[column] - b[column]) / (n - m) / 1e6
    print('%-8s %-10s %10.3f%s' % (where, mode, more('resident_bytes'), '  planned: %.3f' % more('planned_bytes') if a['planned_bytes'] else ''))
with open('growth.tsv', 'w') as out:
    for part in ('threads allreduce', 'threads ps', 'sim allreduce', 'sim ps'):
        print('"%s"' % part, file=out)
        for (where, mode, workers), r in rows.items():
            if part == where + ' ' + mode:
                print(workers, r['resident_bytes'] / 1e6, r['step_s'] * 1e3, r['messages_per_step'] or 'nan', r['messages_per_s'] or 'nan', file=out)
        print('\n', file=out)
PYTHON
    # Messages of one worker are none, which has no logarithm.
    if command -v gnuplot >/dev/null; then
        gnuplot <<'GNUPLOT'
set terminal pngcairo size 1200,460 font 'DejaVu Sans,11' linewidth 1.5 background 'white'
set output 'growth.png'
set multiplot layout 1,3
set xlabel 'workers'
set key bottom right
set xrange [0:*]
set yrange [0:*]
set title 'Memory in threads, MB'
plot 'growth.tsv' index 0 using 1:2 with linespoints title 'allreduce', '' index 1 using 1:2 with linespoints title 'parameter server'
set logscale xy
set format y '10^{%T}'
set xrange [0.8:*]
set yrange [1:*]
set title 'Messages of a step, simulated'
plot 'growth.tsv' index 2 using ($1 > 1 ? $1 : NaN):4 with linespoints title 'ring', x > 1 ? 2 * x * (x - 1) : NaN with lines dashtype 2 title '2 W (W - 1)', \
    'growth.tsv' index 3 using 1:4 with linespoints title 'parameter server', 45 * x with lines dashtype 2 title '45 W'
set title 'Simulated messages per second'
plot 'growth.tsv' index 2 using ($1 > 1 ? $1 : NaN):5 with linespoints title 'ring', '' index 3 using 1:5 with linespoints title 'parameter server'
GNUPLOT
    fi
    rm growth.tsv
}
