# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# prediction - efficiencies that gradmark predicts beside all published ones, beside two simple predictions
about="Predicts each published efficiency in a folder of tables by gradmark reproduce, and fits nothing. TABLE.csv is predicted on the
clusters that its rows name, else on TABLE.yaml. Prints the mean absolute error in points of scaling efficiency, and the mean factor in
throughput, for five groups of rows, beside:
  envelope   compute / (compute + max(0, bytes / rate - 0.6 compute)), with the rate of the network card, or of links within a host.
             Bytes of a ring: 2 (N-1) / N of the model. Of servers: both ways through the link of the busiest server; within a host with
             one server both ways between a GPU and the host
  known      the mean of the published efficiencies of other sources in the same group, at this number of GPUs or the nearest (by ratio)
Rows with 1 GPU and rows with \"counted no\" are in no mean. \"MPI\" in the column table of a row: sums are computed by MPI on CPUs.
\"gradients of a host are summed\" in it: to the envelope a host is one worker. Takes a few minutes.
Writes errors.csv, of the rows that count: published less predicted, in points. If the folder of tables has such a file, it must be the
same, within half a point. Else copy it there, and build again: the bands of reproduce use the table of the last build."
option published DIR "$scripts/../results/published" any 'folder of tables'

check() {
    [ -d "$published" ] || refuse "--published $published: is no folder"
    published=$(realpath "$published")
    grep -lq '^model,gpus,' "$published"/*.csv 2>/dev/null ||
        refuse "--published $published: has no table; use CSV files with the columns of gradmark reproduce"
}

# bytes_of MODEL: its parameters, in fp32
bytes_of() {
    launch "profile of $1" "$program" profile --model "$1" --images-per-s 1 --batch 1 --force --out profile.json
    python3 -c 'import json; print(4 * sum(t["n_elems"] for l in json.load(open("profile.json"))["layers"] for t in l["tensors"]))'
}

launches() {
    local file of model code words
    for file in "$published"/*.csv; do
        grep -q '^model,gpus,' "$file" || continue
        of=$(basename "$file" .csv)
        words=("$file" --records "$of.jsonl" --no-bands)
        [ ! -e "$published/$of.yaml" ] || words+=(--cluster "$published/$of.yaml")
        tell "$of"
        code=0
        "$program" reproduce "${words[@]}" >log.txt 2>&1 || code=$?
        # A row that fails is listed, the others count.
        [ $code -eq 0 ] || [ -s "$of.jsonl" ] || refuse "reproduce $of: exit status $code: $(tail -n 1 log.txt)"
    done
    grep -hoE '"model":"[^"]+"' ./*.jsonl | cut -d'"' -f4 | sort -u >models.txt
    while read -r model; do printf '%s %s\n' "$model" "$(bytes_of "$model")"; done <models.txt >bytes.txt
    rows_of_records "$published"
    errors_of_rows
    rm -f ./*.jsonl models.txt bytes.txt profile.json
}

# rows_of_records FOLDER: rows.csv, of the tables and their records
rows_of_records() {
    python3 - "$1" <<'PYTHON'
import csv, glob, json, math, os, sys
n_bytes = {model: int(n) for model, n in (line.split() for line in open('bytes.txt'))}

def published_rows(path):  # by line, and whether constants may be chosen on them
    lines = open(path).read().splitlines()
    head = next(i for i, line in enumerate(lines) if not line.startswith('#'))
    names = next(csv.reader([lines[head]]))
    rows = {i + 1: dict(zip(names, next(csv.reader([lines[i]])))) for i in range(head + 1, len(lines)) if lines[i]}
    return rows, 'Only reported' not in ' '.join(line.strip('# ') for line in lines[:head])

def envelope(r, c, row):
    compute_s = r['batch_count'] / r['one_gpu_images_per_s']
    n, each, size = r['gpus_count'], int(c['ranks_per_host_count']), n_bytes[r['model']]
    if r.get('gradients', 'fp32') != 'fp32':
        size /= 2
    several = n > each
    rate = c['link_bits_per_s'] * c['nics_per_host_count'] / 8 if several else c['local_bytes_per_s']
    if r['mode'] != 'ps':
        crossing = 2 * (n - 1) / n * size
    elif not several and r['servers_count'] == 1:
        crossing = 2 * size
    else:
        workers, beside = n, each if several else 1
        if 'gradients of a host are summed' in row.get('table', ''):  # a host is one worker
            workers, beside = math.ceil(n / each), 1
        if c['server_placement'] != 'beside':
            beside = 0
        crossing = 2 * size * (r['imbalance_ratio'] or 1) / r['servers_count'] * (workers - beside)
    return compute_s / (compute_s + max(0, crossing / rate - 0.6 * compute_s))

out = csv.writer(open('rows.csv', 'w'), lineterminator='\n')
out.writerow('group,file,line,source,model,gpus,published,gradmark,envelope,counted,chosen,cluster'.split(','))
for path in sorted(glob.glob('*.jsonl')):
    name = os.path.basename(path)[:-6]
    rows, chosen = published_rows('%s/%s.csv' % (sys.argv[1], name))
    records = [json.loads(line) for line in open(path)]
    clusters = {(r['cluster'], r['transport']): r['values'] for r in records if r['kind'] == 'cluster'}
    for r in (r for r in records if r['kind'] == 'prediction' and r['gpus_count'] > 1):
        row, c = rows[r['line_index']], clusters[r['cluster'], r['transport']]
        apart = r['mode'] == 'ps' and c['server_placement'] != 'beside'
        several = 'several hosts' if apart or r['gpus_count'] > c['ranks_per_host_count'] else 'one host'
        group = ('servers, ' if r['mode'] == 'ps' else 'ring, ') + several
        if group == 'ring, several hosts' and 'MPI' in row.get('table', ''):
            group = 'ring by MPI on CPUs'
        predicted = r['predicted_ratio']
        out.writerow([group, name, r['line_index'], row.get('source') or name, r['model'], r['gpus_count'], '%.6g' % r['published_ratio'],
                      '' if predicted is None else '%.6g' % predicted, '%.6g' % envelope(r, c, row), int(r['counted']), int(chosen), c['name']])
PYTHON
}

# errors.csv, of rows.csv: what harness/campaign/known_errors.h reads
errors_of_rows() {
    python3 <<'PYTHON'
import csv
print('# Published less predicted efficiency, in points, of each row that counts. scripts/measure prediction wrote it; no value here\n'
      '# is chosen. table: the file with the row, and its line. cluster: the name in the description of its hosts.\n'
      'exchange,hosts,table,line,cluster,error_points', file=(to := open('errors.csv', 'w')))
for r in csv.DictReader(open('rows.csv')):
    if r['counted'] == '1' and r['gradmark']:
        exchange = 'servers' if r['group'].startswith('servers') else 'collective'
        hosts = 'one' if r['group'].endswith('one host') else 'several'
        print(exchange, hosts, r['file'], r['line'], r['cluster'], '%.2f' % (100 * (float(r['published']) - float(r['gradmark']))),
              sep=',', file=to)
PYTHON
}

table() {
    python3 - "$published/errors.csv" <<'PYTHON'
import csv, math, os, sys
GROUPS = ['ring, several hosts', 'ring by MPI on CPUs', 'ring, one host', 'servers, several hosts', 'servers, one host']
rows = list(csv.DictReader(open('rows.csv')))
for r in rows:
    for key in ('published', 'gradmark', 'envelope'):
        r[key] = float(r[key]) if r[key] else None
    r['gpus'] = int(r['gpus'])
counted = [r for r in rows if r['counted'] == '1']

def known(r):
    others = [o for o in counted if o['group'] == r['group'] and o['source'] != r['source']]
    near = min((abs(math.log(o['gpus'] / r['gpus'])) for o in others), default=None)
    found = [o['published'] for o in others if abs(math.log(o['gpus'] / r['gpus'])) < near + 1e-9]
    return sum(found) / len(found) if found else None

for r in counted:
    r['known'] = known(r)

def errors(of, key):  # mean error in points, mean factor
    of = [r for r in of if r[key] is not None]
    if not of:
        return '%17s' % '-'
    points = sum(abs(r[key] - r['published']) for r in of) / len(of)
    factor = math.exp(sum(abs(math.log(r[key] / r['published'])) for r in of) / len(of))
    return '%7.1f pt %6.2f x' % (100 * points, factor)

def line(title, of):
    if of:
        print('%-38s %5d %9d %s %s %s' % (title, len(of), len({r['source'] for r in of}), errors(of, 'gradmark'), errors(of, 'envelope'),
                                          errors(of, 'known')))

def head(title):
    print('%-38s %5s %9s %19s %19s %19s' % (title, 'rows', 'sources', 'gradmark', 'envelope', 'known tables'))

print('Mean absolute error in points of scaling efficiency, and mean factor in throughput; nothing is fitted.')
head('all rows')
for group in GROUPS:
    line(group, [r for r in counted if r['group'] == group])
print()
head('rows only reported')
for group in GROUPS:
    line(group, [r for r in counted if r['group'] == group and r['chosen'] == '0'])
print()
head('each file')
for name in sorted({r['file'] for r in counted}):
    for group in GROUPS:
        line('%s: %s' % (name, group) if len({r['group'] for r in counted if r['file'] == name}) > 1 else name,
             [r for r in counted if r['file'] == name and r['group'] == group])
print()
print('rows only reported: no constant may be chosen on them (README of the folder of tables)')
print('in no mean: %d rows of older revisions (counted no)' % (len(rows) - len(counted)))
failed = [r for r in counted if r['gradmark'] is None]
for r in failed:
    print('FAILED: %s.csv, line %s: %s, %d GPUs' % (r['file'], r['line'], r['model'], r['gpus']))

HEADER = 'exchange,hosts,table,line,cluster,error_points'

def errors_in(path):
    lines = [line.rstrip('\n') for line in open(path) if not line.startswith('#')]
    if not lines or lines[0] != HEADER:
        print('BROKEN: %s has no line "%s"; copy errors.csv of this measure there, and build again' % (path, HEADER))
        raise SystemExit(1)
    return {tuple(r[key] for key in r if key != 'error_points'): float(r['error_points']) for r in csv.DictReader(lines)}

broken = False
if os.path.exists(sys.argv[1]) and not failed:
    own, kept = errors_in('errors.csv'), errors_in(sys.argv[1])
    others = [key for key in sorted(set(own) | set(kept)) if not abs(own.get(key, math.inf) - kept.get(key, math.inf)) <= 0.5]
    broken = bool(others)
    if others:
        print('BROKEN: %s differs in %d rows, the first %s; copy errors.csv there, and build again' % (
            os.path.basename(sys.argv[1]), len(others), ' '.join(others[0])))
    else:
        print('kept: %s has these errors' % os.path.basename(sys.argv[1]))
raise SystemExit(2 if failed else 1 if broken else 0)
PYTHON
}
