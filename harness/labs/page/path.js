// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * path.js - the path of the linear model, worked out in the page by the arithmetic of the program.
 *
 * Not an approximation of it: numbers are float32 where the program's are (Math.fround() after every operation), and
 * operations come in its order. What is copied, and must change with it:
 *
 *   order of samples   harness/base/rng.c, data/dataset.c, job_first_sample() of harness/train
 *   gradient           models/linear.c; sums in 32 lanes: harness/compute/cpu/kernels.c
 *   update             sgd() of kernels.c; rate: harness/train/schedule.c, harness/exchange/consistency.h
 *   sum over workers   allreduce/ring.c; end_round() of ps/server_push.c
 *
 * harness/verbs/interactive_browser_test compares paths with those of the program, step by step.
 */
const SLOPE = 0, OFFSET = 1, N_PARAMS = 2;
const N_LANES = 32;
const VELOCITY_MIN = 1e-30;
const f32 = Math.fround;

// --- the order of samples: a permutation of them for each epoch ---

const RNG_SHUFFLE = 3n, N_ROUNDS = 4;
const u64 = (z) => BigInt.asUintN(64, z);

function mix(z)
{
    z = u64(z + 0x9e3779b97f4a7c15n);
    z = u64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = u64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
}

// The places of samples 0 .. n - 1 of this epoch: a Feistel network, walked until inside [0, n).
function order_of_epoch(seed, epoch, n)
{
    let half_bits = 1;
    while (4 ** half_bits < n)
        half_bits++;
    const mask = 2 ** half_bits - 1, order = new Uint32Array(n);
    const base = mix(mix(BigInt(seed) ^ mix(BigInt(epoch))) ^ RNG_SHUFFLE);
    const change = []; // [round][right half]
    for (let round = 0; round < N_ROUNDS; round++)
        change.push(Uint32Array.from({ length : mask + 1 },
                                     (_, right) =>
                                         Number(mix(base ^ ((BigInt(round) << 32n) | BigInt(right))) & BigInt(mask))));
    for (let i = 0; i < n; i++) {
        let place = i;
        do {
            let left = place >> half_bits, right = place & mask;
            for (let round = 0; round < N_ROUNDS; round++)
                [left, right] = [ right, left ^ change[round][right] ];
            place = (left << half_bits) | right;
        } while (place >= n);
        order[i] = place;
    }
    return order;
}

// The data of a lesson, and the orders of epochs that were asked for before.
class Samples
{
    constructor(seed, x, y)
    {
        this.seed = seed;
        this.x = Float32Array.from(x);
        this.y = Float32Array.from(y);
        this.orders = [];
    }

    // Of sample i of a training, counted from its beginning.
    place(i)
    {
        const n = this.x.length, epoch = Math.floor(i / n);
        if (!this.orders[epoch])
            this.orders[epoch] = order_of_epoch(this.seed, epoch, n);
        return this.orders[epoch][i - epoch * n];
    }
}

// --- a gradient, and an update by it ---

function lanes_sum(lane)
{
    let sum = 0;
    for (let j = 0; j < N_LANES; j++)
        sum = f32(sum + lane[j]);
    return sum;
}

// Of the mean square over B samples from `first` on; B is at most 2048, a block of the program's sums.
function gradient(samples, param, first, B)
{
    const scale = f32(2 / B);
    const by_slope = new Float32Array(N_LANES), by_offset = new Float32Array(N_LANES); // round what is stored
    for (let i = 0; i < B; i++) {
        const place = samples.place(first + i), x = samples.x[place];
        const y = f32(f32(param[SLOPE] * x) + param[OFFSET]);
        const dy = f32(scale * f32(y - samples.y[place]));
        by_slope[i % N_LANES] += f32(dy * x);
        by_offset[i % N_LANES] += dy;
    }
    return [ lanes_sum(by_slope), lanes_sum(by_offset) ];
}

// SGD with momentum, on the parameters of a worker or of a server.
class Optimizer
{
    constructor(momentum)
    {
        this.momentum = f32(momentum);
        this.velocity = new Float32Array(N_PARAMS);
    }

    step(param, grad, rate, grad_scale)
    {
        for (let i = 0; i < N_PARAMS; i++) {
            let d = f32(f32(grad_scale) * grad[i]);
            if (this.momentum !== 0) {
                d = f32(f32(this.momentum * this.velocity[i]) + d);
                if (Math.abs(d) < f32(VELOCITY_MIN))
                    d = 0;
                this.velocity[i] = d;
            }
            param[i] = f32(param[i] - f32(rate * d));
        }
    }
}

// The rate of the step before which all workers have taken samples_count samples.
function rate_of(s, n_samples, samples_count)
{
    const factor = { none : 1, sqrt : Math.sqrt(s.workers), linear : s.workers }[s.scaling];
    const epochs = samples_count / n_samples;
    if (epochs >= s.warmup_epochs)
        return f32(s.rate * factor);
    return f32(s.rate * (1 + (factor - 1) * epochs / s.warmup_epochs));
}

// --- workers ---

// The sum of all workers' gradients: in a ring element i begins at a worker of its own; a server goes from worker 0 on.
function sum_of(grads, by_ring)
{
    return [ SLOPE, OFFSET ].map((i) => {
        const W = grads.length, begin = by_ring && W > 1 ? Math.ceil((i + 1) * W / N_PARAMS) - 1 : 0;
        let sum = grads[begin][i];
        for (let k = 1; k < W; k++)
            sum = f32(sum + grads[(begin + k) % W][i]);
        return sum;
    });
}

// The order in which workers of equal speed arrive, in simulated time: the last one shares the server's host, and so is
// the first; behind a step that all waited for, by their numbers, as the server answers them.
function turns_of(n_workers, waited)
{
    return Array.from({ length : n_workers }, (_, k) => waited ? k : (k + n_workers - 1) % n_workers);
}

/*
 * The path of a training: what the parameters are at first and after each update.
 *
 *   s       batch, rate, momentum, workers, scaling (none, sqrt, linear), warmup_epochs, n_steps: of each worker;
 *           sum: "single", "ring" (averages), or of a parameter server "sync" (averages), "ssp:0" (all read what is
 *           there behind a step of all), "async" (reads at once); over_staleness: the rate is, of late gradients
 *   points  [slope, offset] each; the path ends where one is no finite number
 *
 * An update of "single", "ring" and "sync" is behind a step of all; of "ssp:0" and "async", behind that of one, in
 * turns.
 */
function path_of(samples, s)
{
    const n = samples.x.length, W = s.workers, optimizer = new Optimizer(s.momentum);
    const averages = s.sum === 'single' || s.sum === 'ring' || s.sum === 'sync';
    const param = new Float32Array(N_PARAMS); // of the server, or of all
    const read =
        Array.from({ length : W }, () => ({ param : new Float32Array(N_PARAMS), clock : 0 })); // by each worker
    const path = { points : [ [ 0, 0 ] ], samples_each : averages ? W * s.batch : s.batch, has_left : false };
    let clock = 0, late = 0; // updates so far; by how many of them gradients came late

    const update = (grad, rate, grad_scale) => {
        optimizer.step(param, grad, rate, grad_scale);
        clock++;
        path.has_left = !param.every(Number.isFinite);
        if (!path.has_left)
            path.points.push([ param[SLOPE], param[OFFSET] ]);
    };
    const step_of_all = (before, rate) => {
        const grads = read.map((_, w) => gradient(samples, param, before + w * s.batch, s.batch));
        update(sum_of(grads, s.sum === 'ring'), rate, 1 / W);
    };
    const step_of = (w, before, rate) => {
        const staleness = clock - read[w].clock;
        late += staleness;
        const grad = gradient(samples, read[w].param, before + w * s.batch, s.batch);
        update(grad, s.over_staleness && staleness > 1 ? f32(rate / staleness) : rate, 1);
    };
    const reads = (w) => {
        read[w].param.set(param);
        read[w].clock = clock;
    };

    for (let step = 0; step < s.n_steps && !path.has_left; step++) {
        const before = step * W * s.batch, rate = rate_of(s, n, before);
        if (averages) {
            step_of_all(before, rate);
            continue;
        }
        for (const w of turns_of(W, s.sum !== 'async' && step > 0)) {
            if (path.has_left)
                break;
            step_of(w, before, rate);
            if (s.sum === 'async')
                reads(w);
        }
        if (s.sum !== 'async')
            read.forEach((_, w) => reads(w));
    }
    path.mean_staleness = late / clock;
    return path;
}
