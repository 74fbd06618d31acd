# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# predict - steps on 8 hosts beside their prediction from 2 and 4 hosts
about="Makes hosts of network namespaces (as root), each behind a link of RATE. With each of three profiles and each of two ways to
exchange (a ring over MPI, a synchronous parameter server over ZeroMQ):
  1. measures the links of 4 hosts (gradmark calibrate), once for each transport
  2. measures steps on 2 and on 4 hosts (gradmark compare --model replay)
  3. predicts those of 8 from these alone (gradmark predict)
  4. measures them on 8, and prints predicted beside measured, with median and worst error.
Of the parameter server one host is the server, so 2, 4 and 8 hosts have 1, 3 and 7 workers. The profiles have the shapes of VGG-16,
ResNet-50 and Inception V3 as published for a P100: each tensor at 1/64 (VGG-16) or 1/16 of its bytes, each time at 1/4, so that 2 cores
suffice for 8 hosts."
option rate RATE 1gbit any 'rate of each link, as for scripts/hosts'
option launches N 5 2-999 'launches of each point'
option steps N 40 10-9999 'steps of a launch'
option limit M,W '' any 'promise: median error at most M %, worst at most W % (goal: 5,10)'
option sim FILE '' file 'in simulation: this cluster is measured, calibrated and predicted'

check() { [[ -z $limit || $limit =~ ^[0-9.]+,[0-9.]+$ ]] || refuse "--limit $limit: must be two percentages, such as 5,10"; }

# measure_steps HOSTS FOLDER MODEL MODE WORKERS
measure_steps() {
    local words=(compare --model replay --profile "$3.json" --mode "$4" --workers "$5" --steps "$steps" --no-baseline --no-charts --results . --name "$2")
    [ "$4" = allreduce ] || words+=(--consistency sync)
    if [ -n "$sim" ]; then words+=(--compute hollow); else words+=(--launches "$launches" --budget-s 100000); fi
    on_hosts "$1" "$1" "${words[@]}"
    mv ./*-"$2" "$2"
}
calibrated() { # MODE: by the transport that it uses
    if [ -n "$sim" ]; then
        on_hosts 4 4 calibrate --workers 4 --out "$1.yaml"
    else
        on_hosts 4 4 calibrate --transport "$([ "$1" = allreduce ] && echo mpi || echo zmq)" --out "$1.yaml"
    fi
    cp log.txt "calibrate-$1.txt"
}

launches() {
    local shape mode model small large
    for shape in vgg16:64 resnet50:16 inception3:16; do shrunk_profile "${shape%:*}" "${shape#*:}" 4 "${shape%:*}.json"; done
    for mode in allreduce ps; do
        tell "$mode: calibrating on 4 hosts"
        calibrated $mode
        small=2,4 large=8
        [ $mode = allreduce ] || small=1,3 large=7
        for model in vgg16 resnet50 inception3; do
            tell "$mode: $model on 2 and 4 hosts"
            measure_steps 4 "$mode-$model" $model $mode $small
            "$program" predict --from "$mode-$model" --cluster $mode.yaml --to $large --records "$mode-$model.jsonl" >"$mode-$model.txt" 2>log.txt ||
                refuse "predict: $(tail -n 1 log.txt)"
            tell "$mode: $model on 8 hosts"
            measure_steps 8 "$mode-$model-8" $model $mode $large
        done
    done
}

table() {
    python3 - "$rate" "${limit:-none}" <<'PYTHON'
import json, statistics, sys
rate, limit = sys.argv[1:3]
rows, errors, plain = [], [], []
def steps(folder):
    return [r['step_mean_s'] for r in map(json.loads, open(folder + '/runs.jsonl')) if r['kind'] == 'summary']
for mode in ('allreduce', 'ps'):
    for model in ('vgg16', 'resnet50', 'inception3'):
        records = [json.loads(line) for line in open('%s-%s.jsonl' % (mode, model))]
        p = next(r for r in records if r['kind'] == 'prediction')
        check = next(r for r in records if r['kind'] == 'check')
        measured = steps('%s-%s-8' % (mode, model))
        m = sum(measured) / len(measured)
        errors.append(p['predicted_step_s'] / m - 1)
        plain.append(p['simulated_step_s'] / m - 1)
        inside = p['low_step_s'] <= m <= p['high_step_s']
        rows.append(('ring' if mode == 'allreduce' else 'parameter server', model, 8, p['workers_count'], len(measured), 1e3 * m,
                     100 * (max(measured) / min(measured) - 1), 1e3 * p['simulated_step_s'], 100 * plain[-1], 1e3 * p['predicted_step_s'],
                     '%.1f .. %.1f' % (1e3 * p['low_step_s'], 1e3 * p['high_step_s']), 'yes' if inside else 'no',
                     100 * errors[-1], 100 * check['error_ratio']))
print('Steps on 8 hosts behind links of %s each, predicted from 2 and 4 hosts; ms.' % rate)
print('%-17s %-11s %5s %7s %8s %9s %8s %10s %8s %10s %18s %6s %8s %9s' % (
    'exchange', 'shape', 'hosts', 'workers', 'launches', 'measured', 'range', 'simulated', 'error', 'predicted', 'band', 'inside', 'error', 'check'))
for r in rows:
    print('%-17s %-11s %5d %7d %8d %9.1f %6.1f %% %10.1f %+6.1f %% %10.1f %18s %6s %+6.1f %% %+7.1f %%' % r)
def worst(e): return 100 * max(map(abs, e))
def median(e): return 100 * statistics.median(map(abs, e))
print('predicted: median error %.1f %%, worst %.1f %%' % (median(errors), worst(errors)))
print('simulated alone, by the calibration: median error %.1f %%, worst %.1f %%' % (median(plain), worst(plain)))
print('range: of launches, slowest over fastest; check: error of the prediction of the 4 hosts from the 2')
if limit != 'none':
    most = [float(x) for x in limit.split(',')]
    kept = median(errors) <= most[0] and worst(errors) <= most[1]
    print('%s: median at most %g %%, worst at most %g %%' % ('kept' if kept else 'BROKEN', *most))
    sys.exit(0 if kept else 1)
PYTHON
}
