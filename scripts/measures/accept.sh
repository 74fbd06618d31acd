# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# accept - how often gradmark accept finds a slow link, host or rank, and how often it blames a healthy one
about="Makes hosts of network namespaces (as root), each behind a link of RATE, and tests them again and again by gradmark accept --stages
compute,pairwise with messages of 1 MiB: healthy; with one link between two hosts at 0.6 of the rate; with one host's own link at 0.6; with
one rank that computes at 0.7 of its speed (--inject). Which one it is, is drawn anew for each test. Prints how often each was found by its
own name, and false alarms. Keeps the report of the last test of each kind. Takes some 20 minutes.

With --sim all faults are injected in simulation, 1 to 5 at once, with 5 % noise. Then --least-found is a percentage of the faults, and
--most-alarms one of the healthy nodes and ranks."
option hosts N '' any 'hosts, from 3; default: 8, with --sim 256'
option rate RATE 1gbit any 'rate as for scripts/hosts, in whole mbit or gbit'
option kinds LIST healthy,link,host,rank 'healthy|link|host|rank' 'kinds of tests'
option repeats N 20 1-999 'tests of each kind'
option least-found N '' 0-999 'promise: at least N tests of each fault find it by its name'
option most-alarms N '' 0-999 'promise: at most N healthy tests have a false alarm'
option seed N 1 0-999999999 'seed of what is drawn'
option sim '' false '' 'no hosts: in simulation'

check() {
    local most=32
    ! $sim || most=4096
    hosts=${hosts:-$($sim && echo 256 || echo 8)}
    if ! [[ $hosts =~ ^[1-9][0-9]{0,3}$ ]] || [ "$hosts" -lt 3 ] || [ "$hosts" -gt $most ]; then
        refuse "--hosts $hosts: must be a whole number from 3 to $most"
    fi
    [[ $rate =~ ^[1-9][0-9]{0,3}(mbit|gbit)$ ]] || refuse "--rate $rate: must be a whole number and mbit or gbit, such as 1gbit"
}

# trial KIND REPEAT: sets code; what it found in ./last
trial() {
    local a=$((RANDOM % hosts)) b words=() around=()
    b=$(((a + 1 + RANDOM % (hosts - 1)) % hosts))
    truth='' code=0
    case $1 in
    link)
        around=(--link "$((a + 1))-$((b + 1))=$slow")
        truth="link $a $b"
        ;;
    host)
        around=(--host "$((a + 1))=$slow")
        truth="node $a"
        ;;
    rank)
        words=(--inject "rank:$a=0.7")
        truth="rank $a"
        ;;
    esac
    rm -rf last
    "$scripts/hosts" "${around[@]}" "$hosts" "$rate" mpirun -np "$hosts" "$program" accept --stages compute,pairwise \
        --criteria-set pairwise_message_bytes=1048576 --interface eth0 --wait sleep --seed "$2" --out last "${words[@]}" >log.txt 2>&1 || code=$?
}

# score TRUTH: found false_alarms
score() {
    python3 - "$1" <<'PYTHON'
import json, sys
truth = sys.argv[1].split()
findings = [r for r in map(json.loads, open('last/acceptance.jsonl')) if r['kind'] == 'finding']
def name(f):
    if f['subject'] == 'link':
        return ['link'] + sorted([str(f['a']), str(f['b'])])
    return [{'rank': 'rank', 'node': 'node'}.get(f['subject'], f['subject']), str(f['a'])]
def is_it(f):
    n = name(f)
    if truth and truth[0] == 'link':
        return n == ['link'] + sorted(truth[1:])
    if truth and truth[0] == 'rank': # a rank a host: either name
        return f['stage'] != 'pairwise' and n[1:] == truth[1:]
    return bool(truth) and f['stage'] == 'pairwise' and n == truth
print(int(any(map(is_it, findings))), sum(not is_it(f) for f in findings), end=' ')
print('; '.join(' '.join(name(f)) + ' ' + f['metric'] for f in findings).replace(',', ' '))
PYTHON
}


simulate() {
    local code=0
    "$program" accept --world sim --cluster-set hosts_count="$hosts" --workers "$hosts" --stages compute,pairwise --noise-ratio 0.05 \
        --self-test $((4 * repeats)) --seed "$seed" --out sim >self_test.txt || code=$?
    [ $code -le 1 ] || refuse "the self-test ended with exit status $code"
    mv sim/self_test.jsonl . # what each trial left is not kept
    rm -r sim
}

launches() {
    local repeat kind found alarms findings mbit=${rate%[mg]bit}
    if $sim; then
        simulate
        return
    fi
    case $rate in *gbit) mbit=$((mbit * 1000)) ;; esac
    slow=$((mbit * 6 / 10))mbit
    RANDOM=$seed
    printf 'kind,repeat,truth,exit_code,found,false_alarms,findings\n' >trials.csv
    for ((repeat = 1; repeat <= repeats; repeat++)); do
        for kind in ${kinds//,/ }; do
            tell "$kind, $repeat of $repeats"
            trial "$kind" $((seed + repeat))
            [ $code -eq 1 ] || ended $code "$kind, $truth"
            read -r found alarms findings < <(score "$truth")
            printf '%s,%d,%s,%d,%d,%d,%s\n' "$kind" "$repeat" "$truth" $code "$found" "$alarms" "$findings" >>trials.csv
            rm -rf "last-$kind"
            mv last "last-$kind"
        done
    done
}

table() {
    if $sim; then
        cat self_test.txt
        rm self_test.txt
        python3 - "${least_found:-none}" "${most_alarms:-none}" <<'PYTHON'
import json, sys
least, most = sys.argv[1:]
total = [r for r in map(json.loads, open('self_test.jsonl')) if r['kind'] == 'self_test'][0]
injected = sum(v for k, v in total.items() if k.endswith('_injected_count'))
found = sum(v for k, v in total.items() if k.endswith('_found_count'))
print('found by their names: %d of %d faults, %.1f %%; blamed without a fault: %.3f %% of healthy nodes and ranks' % (
    found, injected, 100 * found / injected, 100 * total['false_count'] / total['healthy_subjects_count']))
if (least, most) != ('none', 'none'):
    kept = (least == 'none' or 100 * found >= float(least) * injected) and (
        most == 'none' or 100 * total['false_count'] <= float(most) * total['healthy_subjects_count'])
    print('%s: at least %s %% found, at most %s %% blamed without a fault' % ('kept' if kept else 'BROKEN', least, most))
    sys.exit(0 if kept else 1)
PYTHON
        return
    fi
    python3 - "${least_found:-none}" "${most_alarms:-none}" "$hosts hosts behind links of $rate each" <<'PYTHON'
import csv, sys
least_found, most_alarms, where = sys.argv[1:]
rows = list(csv.DictReader(open('trials.csv')))
print('gradmark accept on %s' % where)
print('%-38s %7s %17s %16s' % ('fault', 'tests', 'found by its name', 'false alarms in'))
names = {'healthy': 'none', 'link': 'a link at 0.6 of its rate', 'host': "a host's link at 0.6 of its rate", 'rank': 'a rank at 0.7 of its speed'}
kept = True
for kind in ('healthy', 'link', 'host', 'rank'):
    of = [r for r in rows if r['kind'] == kind]
    if not of:
        continue
    found, alarmed = sum(int(r['found']) for r in of), sum(r['false_alarms'] != '0' for r in of)
    print('%-38s %7d %17s %16d' % (names[kind], len(of), '-' if kind == 'healthy' else found, alarmed))
    if kind == 'healthy' and most_alarms != 'none':
        kept = kept and alarmed <= int(most_alarms)
    if kind != 'healthy' and least_found != 'none':
        kept = kept and found >= int(least_found)
if (least_found, most_alarms) != ('none', 'none'):
    print('%s: at least %s found of each fault, at most %s healthy tests with a false alarm' % ('kept' if kept else 'BROKEN', least_found, most_alarms))
    sys.exit(0 if kept else 1)
PYTHON
}
