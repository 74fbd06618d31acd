# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# compression - the accuracy of lenet with each compression of gradients
about="Trains lenet with real arithmetic in simulation, so the load of the machine decides nothing: allreduce and an asynchronous
parameter server, with each number of workers, each seed and each compression. Prints the test accuracy beside that without
compression, and what was sent. Takes some minutes."
option steps N 1000 1-9999999 'steps of each worker'
option workers LIST 2,4 any 'numbers of workers'
option seeds LIST 1,2,3 any 'seeds'
option compression LIST fp16,bf16,topk:0.01 any 'compressions'
option limit POINTS 1 number 'promise: the mean accuracy loses at most so many points'

check() {
    [[ $workers =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || refuse "--workers $workers: must be whole numbers from 1 on"
    [[ $seeds =~ ^[0-9]+(,[0-9]+)*$ ]] || refuse "--seeds $seeds: must be whole numbers"
}

launches() {
    local mode n seed each key
    echo 'mode,workers_count,seed,compression,accuracy_ratio,loss_test,sent_bytes_per_step,sent_ratio,params_sha256' >launches.csv
    for mode in allreduce ps; do
        for n in ${workers//,/ }; do
            for seed in ${seeds//,/ }; do
                for each in none ${compression//,/ }; do
                    launch "--mode $mode --workers $n --seed $seed --compression $each" "$program" train --world sim --model lenet \
                        --mode "$mode" --workers "$n" --seed "$seed" --compression "$each" --steps "$steps" --record-every "$steps" --out out.jsonl
                    {
                        printf '%s' "$mode,$n,$seed,$each"
                        for key in accuracy_ratio loss_test sent_bytes_per_step sent_ratio params_sha256; do printf ',%s' "$(value $key out.jsonl)"; done
                        echo
                    } >>launches.csv
                done
            done
        done
    done
    rm out.jsonl
}

table() {
    python3 - launches.csv "$limit" "$steps" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
limit = float(sys.argv[2])
accuracy = {}
for r in rows:
    accuracy.setdefault((r['mode'], int(r['workers_count']), r['compression']), []).append(r)
print('lenet, %s steps of each worker: accuracy on the test set, the mean and [the least] of %d seeds' %
      (sys.argv[3], len({r['seed'] for r in rows})))
print('%-10s %7s %-12s %22s %12s %10s' % ('mode', 'workers', 'compression', 'accuracy', 'to none', 'sent'))
broken = []
for (mode, n, name), runs in accuracy.items():
    none = accuracy[mode, n, 'none']
    points = [100 * float(r['accuracy_ratio']) for r in runs]
    less = [100 * float(a['accuracy_ratio']) - 100 * float(b['accuracy_ratio']) for a, b in zip(runs, none)]
    mean_less = sum(less) / len(less)
    print('%-10s %7d %-12s %7.2f %% [%6.2f %%] %+9.2f pt %9.3f x' %
          (mode, n, name, sum(points) / len(points), min(points), mean_less, float(runs[0]['sent_ratio'])))
    if mean_less < -limit:
        broken.append('%s, %d workers, %s: %.2f points' % (mode, n, name, mean_less))
print('BROKEN: more than %g points are lost: %s' % (limit, '; '.join(broken)) if broken
      else 'kept: at most %g points are lost with every compression' % limit)
sys.exit(1 if broken else 0)
PYTHON
}
