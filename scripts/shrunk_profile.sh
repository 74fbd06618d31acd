# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# shrunk_profile.sh - what scripts share that send model-shaped messages between hosts of network namespaces: a profile of
# published rates, made small enough for 2 cores. Who sources it sets `program` and has a function refuse.

# shrunk_profile MODEL BYTES_DIVISOR TIMES_DIVISOR FILE: MODEL as published for a P100, each tensor at 1/BYTES_DIVISOR of its
# elements (at least one), each time at 1/TIMES_DIVISOR. What it is stands in its source. Uses ./log.txt, ./published.json.
shrunk_profile() {
    # shellcheck disable=SC2154 # of who sources this
    "$program" profile --published P100 --model "$1" --gpu-batch 64 --force --out published.json >log.txt 2>&1 || refuse "$(tail -n 1 log.txt)"
    python3 - "$@" <<'PYTHON'
import json, sys
model, bytes_divisor, times_divisor, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
p = json.load(open('published.json'))
for layer in p['layers']:
    for key in ('forward_ns', 'backward_ns'):
        layer[key] //= times_divisor
    for tensor in layer['tensors']:
        tensor['n_elems'] = -(-tensor['n_elems'] // bytes_divisor)
p['model'] = '%s-%d' % (model, bytes_divisor)
p['images_per_s'] *= times_divisor
p['source'] = ('tensors at 1/%d, times at 1/%d of: ' % (bytes_divisor, times_divisor) + p['source'])[:500]
json.dump(p, open(path, 'w'))
PYTHON
    rm published.json
}
