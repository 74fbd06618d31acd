# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# autotune - a step with what --autotune found beside one with the defaults
about="Tunes once in each place (train --autotune). Then launches trainings with what was found and with the defaults, in pairs.
Prints what was found, and how many times as fast a step is with it, with the 95 % interval over pairs (Student's t over
logarithms). If no value was significantly faster, the defaults stay and nothing is compared. Takes some minutes, and hosts need root."
option places LIST threads,mpi,hosts 'threads|mpi|hosts' '2 workers of this machine, or hosts with a worker each'
option hosts N 4 2-32 'hosts of network namespaces'
option rate RATE 1gbit any 'rate of their links, as for scripts/hosts'
option models LIST lenet,resnet8 any 'networks'
option launches N 10 2-999 'pairs of each place and network'
option steps N 200 5-99999 'steps of a launch'
option autotune-s N 60 1-3600 'seconds of each tuning'
option sim FILE '' file 'in simulation of this cluster, with --hosts workers'
takes_more=true

train() { # NAME OPTION...: in $place with $its_model; the records are in NAME.jsonl
    local words=("$program" train --mode allreduce --model "$its_model" --steps "$steps" --eval-samples 0 --record-every "$steps" --out "$1.jsonl" "${@:2}" "${more[@]}")
    case $place in
    threads) launch "$1" "${words[@]}" --world threads --workers 2 ;;
    mpi) launch "$1" mpirun -np 2 "${words[@]}" ;;
    sim) on_hosts "$hosts" "$hosts" "${words[@]:1}" --compute hollow --workers "$hosts" ;;
    hosts) on_hosts "$hosts" "$hosts" "${words[@]:1}" ;;
    esac
}
train_side() { # SIDE PAIR POSITION
    local records=$place-$its_model-$1-$2 its_file=()
    [ "$1" = default ] || its_file=(--autotune-file "$file")
    train "$records" ${its_file[@]+"${its_file[@]}"}
    printf '%s\n' "$2,$3,$place,$its_model,step,$1,$(value step_mean_s "$records.jsonl"),$(value exposed_comm_s "$records.jsonl")" >>launches.csv
}

launches() {
    local place its_model file
    [ -z "$sim" ] || places=sim
    printf 'pair,position,place,model,figure,side,step_s,exposed_comm_s\n' >launches.csv
    for place in ${places//,/ }; do
        for its_model in ${models//,/ }; do
            file=$place-$its_model.autotune.json
            tell "$place, $its_model: tuning"
            train "$place-$its_model-tuning" --autotune "$autotune_s" --autotune-file "$file"
            grep -q '"settings": {}' "$file" || in_turns "$launches" train_side tuned default
        done
    done
}

table() {
    ratios default tuned 7 launches.csv >ratios.txt
    python3 - "$sim" "$hosts" "$rate" "$steps" "${places//,/ }" "${models//,/ }" <<'PYTHON'
import csv, json, os, statistics, sys
sim, hosts, rate, steps, places, models = sys.argv[1:]
rows = list(csv.DictReader(open('launches.csv')))
ratio = {tuple(w[:2]): w[3:] for w in map(str.split, open('ratios.txt'))}
name = {'threads': '2 threads of this machine', 'mpi': '2 processes of this machine', 'hosts': '%s hosts behind %s each' % (hosts, rate),
        'sim': '%s simulated workers' % hosts}
print('Steps of trainings by allreduce with what --autotune found, and with the defaults, in pairs of launches of %s steps.' % steps)
for place in places.split():
    for model in models.split():
        found = json.load(open('%s-%s.autotune.json' % (place, model)))
        settings = ' '.join('%s=%s' % s for s in found['settings'].items())
        of = '%s, %s' % (name[place], model)
        if not settings:
            print('%s: the defaults stay: none of %d values was faster beyond doubt%s' % (
                of, found['candidates_count'], ', %d options were not tried' % found['untried_count'] if found['untried_count'] else ''))
            continue
        ms = {side: 1e3 * statistics.mean(float(r['step_s']) for r in rows if (r['place'], r['model'], r['side']) == (place, model, side))
              for side in ('default', 'tuned')}
        n, mean, low, high, half, median = map(float, ratio[place, model])
        print('%s: %s: a step of %.4g ms instead of %.4g; %.3f times as fast (%.3f to %.3f, %d pairs); in its trials %.3f' % (
            of, settings, ms['tuned'], ms['default'], mean, low, high, n, found['ratio']))
PYTHON
    rm ratios.txt
}
