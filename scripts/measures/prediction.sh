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
\"gradients of a host are summed\" in it: to the envelope a host is one worker.
Then predicts large rows by a fit to small ones (reproduce --fit), in each table that has both: of one host to the rows with fewest GPUs,
of several hosts to those with at most the fewest GPUs that several hosts have. What is fitted is the rate that carries the gradients.
Prints how many rows lie in the bands that other tables make, without and with fits, and how far the published rows are from any function
of the facts: the envelope with both its constants chosen on these very rows, or on those of other hosts; the best function that never
rises with the exchange (its time at the rate above, in times of computing); and the difference between rows of different hosts with the
same facts, called twins (exchange within 10 %, GPUs within a factor of two). Takes about ten minutes.
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
    fits
    errors_of_rows
    rm -f ./*.jsonl ./*.fit models.txt bytes.txt profile.json wishes.txt
}

# fits: large rows by a fit to small ones, and how far off they are, in rows.csv
fits() {
    local of key gpus words code
    wishes >wishes.txt
    while read -r of key gpus; do
        words=("$published/$of.csv" --records "$of.$key.$gpus.fit" --no-bands --fit "$key" --fit-rows "gpus<=$gpus")
        [ ! -e "$published/$of.yaml" ] || words+=(--cluster "$published/$of.yaml")
        tell "$of: fit of $key to gpus<=$gpus"
        code=0
        "$program" reproduce "${words[@]}" >log.txt 2>&1 </dev/null || code=$?
        # A fit that is refused, as rows cannot tell the value, is no failure.
        [ $code -ne 2 ] || printf 'no fit: %s: %s\n' "$of" "$(tail -n 1 log.txt | cut -d ' ' -f 3-)" >>no_fits.txt
        [ $code -eq 0 ] || [ $code -eq 2 ] || refuse "reproduce $of, fit of $key: exit status $code: $(tail -n 1 log.txt)"
    done <wishes.txt
    python3 <<'PYTHON'
import csv, glob, json
rows = list(csv.DictReader(open('rows.csv')))
for path in glob.glob('*.fit'):
    name, key, gpus, _ = path.rsplit('.', 3)
    records = [json.loads(line) for line in open(path)]
    fit = next(r for r in records if r['kind'] == 'fit')
    ratio = {r['line_index']: r['predicted_ratio'] for r in records if r['kind'] == 'prediction' and not r['fitted']}
    for r in rows:
        if (r['file'], r['fit_key'], r['fit_gpus']) == (name, key, gpus) and int(r['gpus']) > int(gpus) and ratio[int(r['line'])] is not None:
            r['fitted'], r['fit_error'] = '%.6g' % ratio[int(r['line'])], '%.6g' % fit['fitted_mean_absolute_error_ratio']
out = csv.DictWriter(open('rows.csv', 'w'), rows[0], lineterminator='\n')
out.writeheader()
out.writerows(rows)
PYTHON
}

# wishes: "TABLE KEY GPUS" for each fit; writes into rows.csv to which rows it would be, of each row that has larger or smaller ones
wishes() {
    python3 <<'PYTHON'
import csv
rows = list(csv.DictReader(open('rows.csv')))
alike = lambda r: (r['file'], r['cluster'], r['group'].split(',')[0], r['group'].endswith('one host'), r['fit_key'])
found = {}
for r in rows:
    same = [int(o['gpus']) for o in rows if o['counted'] == '1' and alike(o) == alike(r)]
    if r['counted'] == '1' and min(same) < max(same):
        r['fit_gpus'] = min(same)
        found[r['file'], r['fit_key'], r['fit_gpus']] = None
for wish in found:
    print(*wish)
out = csv.DictWriter(open('rows.csv', 'w'), rows[0], lineterminator='\n')
out.writeheader()
out.writerows(rows)
PYTHON
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

def exchange(r, c, row):  # its time, in times of computing
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
    return crossing / rate / compute_s

def fit_key(r, several):  # what carries the gradients
    if r.get('system') == 'mpi':
        return 'collective_copy_bytes_per_s'
    return {'tcp': 'tcp_rate_ratio', 'rdma': 'rdma_rate_ratio', 'grpc': 'grpc_process_bytes_per_s'}.get(r['transport'], 'link_bits_per_s') \
        if several else 'local_bytes_per_s'

out = csv.writer(open('rows.csv', 'w'), lineterminator='\n')
out.writerow('group,file,line,source,model,gpus,published,gradmark,envelope,counted,chosen,cluster,exchange,fit_key,fit_gpus,fitted,fit_error'.split(','))
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
        predicted, x = r['predicted_ratio'], exchange(r, c, row)
        out.writerow([group, name, r['line_index'], row.get('source') or name, r['model'], r['gpus_count'], '%.6g' % r['published_ratio'],
                      '' if predicted is None else '%.6g' % predicted, '%.6g' % (1 / (1 + max(0, x - 0.6))), int(r['counted']), int(chosen),
                      c['name'], '%.6g' % x, fit_key(r, several == 'several hosts'), '', '', ''])
PYTHON
}

# errors.csv, of rows.csv: what harness/campaign/known_errors.h reads
errors_of_rows() {
    python3 <<'PYTHON'
import csv
print('# Published less predicted efficiency, in points, of each row that counts. scripts/measure prediction wrote it; no value here\n'
      '# is chosen. table: the file with the row, and its line. cluster: the name in the description of its hosts. fit_points: predicted\n'
      '# by a fit to smaller rows, which leaves these so many points off on average; nothing: nothing was fitted.\n'
      'exchange,hosts,table,line,cluster,error_points,fit_points', file=(to := open('errors.csv', 'w')))
rows = [r for r in csv.DictReader(open('rows.csv')) if r['counted'] == '1']
for key in ('gradmark', 'fitted'):
    for r in (r for r in rows if r[key]):
        exchange = 'servers' if r['group'].startswith('servers') else 'collective'
        hosts = 'one' if r['group'].endswith('one host') else 'several'
        print(exchange, hosts, r['file'], r['line'], r['cluster'], '%.2f' % (100 * (float(r['published']) - float(r[key]))),
              '%.2f' % (100 * float(r['fit_error'])) if key == 'fitted' else '', sep=',', file=to)
PYTHON
}

table() {
    python3 - "$published/errors.csv" <<'PYTHON'
import csv, math, os, sys
GROUPS = ['ring, several hosts', 'ring by MPI on CPUs', 'ring, one host', 'servers, several hosts', 'servers, one host']
rows = list(csv.DictReader(open('rows.csv')))
for r in rows:
    for key in ('published', 'gradmark', 'envelope', 'exchange', 'fitted', 'fit_error'):
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

def most(r, fits):  # how far off 8 of 10 rows of one more table are, by other tables: as known_errors.h; None: there are none
    kind = lambda o: (o['group'].startswith('servers'), o['group'].endswith('one host'))
    others = [o for o in counted if o['cluster'] != r['cluster'] and o['fitted' if fits else 'gradmark'] is not None]
    for of in [others] if fits else [[o for o in others if kind(o) == kind(r)], [o for o in others if kind(o)[1] == kind(r)[1]]]:
        tables = [(o['file'], o['cluster'], fits and kind(o)[1]) for o in of]
        n = len(set(tables))
        if n >= 5:
            break
    if fits and n < 5:
        return most(r, False)
    error = lambda o: abs(o['published'] - o['fitted']) / max(0.01, o['fit_error']) if fits else abs(o['published'] - o['gradmark'])
    off, total = None, 0
    for off, table in sorted(zip(map(error, of), tables)):
        total += 1 / tables.count(table)
        if total >= 0.8 * (n + 1) - 1e-9:
            break
    return off * max(0.01, r['fit_error']) if fits else off

def held(of, key):
    sides = [(r, most(r, key == 'fitted')) for r in of if r[key] is not None]
    ends = [(r, max(0, r[key] - side), min(1, r[key] + side)) for r, side in sides if side is not None]
    if not ends:
        return '%5s %13s %7s %6s' % (('-',) * 4)
    n = sum(low <= r['published'] <= high for r, low, high in ends)
    return '%5d %4d (%3.0f %%) %7.1f %6.1f' % (len(ends), n, 100 * n / len(ends), 100 * sum(high - low for _, low, high in ends) / len(ends),
                                              100 * sum(abs(r[key] - r['published']) for r, _, _ in ends) / len(ends))

def held_line(title, of):
    fitted = [r for r in of if r['fitted'] is not None]
    print('%-24s %s | %s | %s' % (title, held(of, 'gradmark'), held(fitted, 'gradmark'), held(fitted, 'fitted')))

print('Bands that other tables make: rows in them, their width and the mean absolute error, in points')
print('%-24s %-35s| %-35s| the same rows, by a fit to smaller ones' % ('', ' all rows, nothing is fitted', ' large rows, nothing is fitted'))
print('%-24s %s' % ('', ' | '.join(['%5s %13s %7s %6s' % ('rows', 'in the band', 'width', 'error')] * 3)))
for group in GROUPS:
    held_line(group, [r for r in counted if r['group'] == group])
held_line('all', counted)
if os.path.exists('no_fits.txt'):
    print(open('no_fits.txt').read(), end='')
    os.remove('no_fits.txt')
print()

SHAPES = [(10 ** (k / 24), h / 10) for k in range(-24, 37) for h in range(11)]

def shaped(r, shape):
    return 1 / (1 + max(0, shape[0] * r['exchange'] - shape[1]))

def best(of):  # the constants of the envelope that suit these rows best
    return min(SHAPES, key=lambda shape: sum(abs(shaped(r, shape) - r['published']) for r in of))

def chosen(of, elsewhere):  # mean error of the envelope with constants chosen on these rows, or on those of other hosts
    shape = {c: best([r for r in of if r['cluster'] != c] if elsewhere else of) for c in {r['cluster'] for r in of}}
    return '%9.1f' % (100 * sum(abs(shaped(r, shape[r['cluster']]) - r['published']) for r in of) / len(of))

def falling(of):  # the same of any function that never rises with the exchange: medians of rows that would rise are pooled
    middle = lambda block: sorted(block)[len(block) // 2]
    blocks = []
    for r in sorted(of, key=lambda r: r['exchange']):
        blocks.append([r['published']])
        while len(blocks) > 1 and middle(blocks[-2]) < middle(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    return sum(abs(p - middle(b)) for b in blocks for p in b) / len(of)

def twins(of):  # rows with twins on other hosts, and the mean difference between them
    by = []
    for r in of:
        alike = [o for o in of if o['cluster'] != r['cluster'] and max(o['exchange'], r['exchange']) <= 1.1 * min(o['exchange'], r['exchange'])
                 and max(o['gpus'], r['gpus']) <= 2 * min(o['gpus'], r['gpus'])]
        if alike:
            by.append(sum(abs(o['published'] - r['published']) for o in alike) / len(alike))
    return '%6d %7s' % (len(by), '%.1f' % (100 * sum(by) / len(by)) if by else '-')

print('Mean absolute error in points of functions of the facts: of the envelope, whose constants are chosen on these very rows, or on those\n'
      'of other hosts; of the best function that never rises with the exchange. And rows of different hosts with the same facts')
print('%-24s %5s %9s %9s %9s %9s %6s %7s' % ('', 'rows', 'gradmark', 'these', 'others', 'falling', 'twins', 'differ'))
for group in GROUPS:
    of = [r for r in counted if r['group'] == group and r['gradmark'] is not None]
    if of:
        others = chosen(of, True) if len({r['cluster'] for r in of}) > 1 else '%9s' % '-'
        print('%-24s %5d %9.1f %s %s %9.1f %s' % (group, len(of), 100 * sum(abs(r['gradmark'] - r['published']) for r in of) / len(of),
                                                  chosen(of, False), others, 100 * falling(of), twins(of)))
print()
print('rows only reported: no constant may be chosen on them (README of the folder of tables)')
print('in no mean: %d rows of older revisions (counted no)' % (len(rows) - len(counted)))
failed = [r for r in counted if r['gradmark'] is None]
for r in failed:
    print('FAILED: %s.csv, line %s: %s, %d GPUs' % (r['file'], r['line'], r['model'], r['gpus']))

HEADER = 'exchange,hosts,table,line,cluster,error_points,fit_points'

def errors_in(path):
    lines = [line.rstrip('\n') for line in open(path) if not line.startswith('#')]
    if not lines or lines[0] != HEADER:
        print('BROKEN: %s has no line "%s"; copy errors.csv of this measure there, and build again' % (path, HEADER))
        raise SystemExit(1)
    found = {}
    for r in csv.DictReader(lines):
        key = r['exchange'], r['hosts'], r['table'], r['line'], r['cluster']
        found[key + ('fitted',) if r['fit_points'] else key] = float(r['error_points']), float(r['fit_points'] or 0)
    return found

broken = False
if os.path.exists(sys.argv[1]) and not failed:
    own, kept = errors_in('errors.csv'), errors_in(sys.argv[1])
    none = math.inf, math.inf
    others = [key for key in sorted(set(own) | set(kept)) if not all(abs(a - b) <= 0.5 for a, b in zip(own.get(key, none), kept.get(key, none)))]
    broken = bool(others)
    if others:
        print('BROKEN: %s differs in %d rows, the first %s; copy errors.csv there, and build again' % (
            os.path.basename(sys.argv[1]), len(others), ' '.join(others[0])))
    else:
        print('kept: %s has these errors' % os.path.basename(sys.argv[1]))
raise SystemExit(2 if failed else 1 if broken else 0)
PYTHON
}
