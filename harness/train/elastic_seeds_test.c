/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic_seeds_test.c FIRST N - whole elastic trainings in virtual time, of N seeds: one in which nobody goes, one in
 * which a worker that the seed draws leaves, or dies, before a step that it draws, and one that has a worker less from
 * the beginning. All do the same batches, each once in all parts of the parameters. The final loss of the second is not
 * above that of the first, nor below that of the third, which is lower, as the gradients of fewer workers are less
 * stale: by the 95 % intervals of the mean differences, a pair of each seed.
 *
 * Each training is made in a copy of this process. Who joins a run: elastic_test.c joins, whose sums are exact.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/text.h"
#include "harness/measure/interval.h"
#include "harness/train/suite/train_kit.h"

enum { N_WORKERS = 4, N_STEPS = 30, N_BATCHES = N_WORKERS * N_STEPS, MOST_SEEDS = 20000, ALARM_S = 600 };

struct outcome { /* in memory that a copy of this process shares */
    bool is_done;
    double loss;
    int n_losses;
    uint64_t n_done, n_held, n_again;
    char message[RC_MESSAGE_BYTES]; /* else */
};

static int drawn(uint64_t seed, uint64_t what, int below)
{
    return (int)(rng_u64(seed, RNG_TEST, what) % (uint64_t)below);
}

static void train(struct outcome *out, const char *options)
{
    struct train_result r;

    (void)alarm(ALARM_S);
    if (kit_train(&r, options, NULL, 0) != RC_OK) {
        (void)snprintf(out->message, sizeof out->message, "%s", rc_message());
        _exit(EXIT_FAILURE);
    }
    out->loss = r.evaluation.loss;
    out->n_losses = r.n_losses;
    out->n_held = N_BATCHES;
    for (int i = r.n_workers; i < r.n_ranks; i++) {
        const struct server_facts *f = &r.rank[i].served;
        out->n_done += f->batches_done_count;
        out->n_again += f->batches_again_count;
        out->n_held = f->batches_held_count < out->n_held ? f->batches_held_count : out->n_held;
    }
    out->is_done = true;
    _exit(EXIT_SUCCESS);
}

/* false: it does not end well, or has lost a batch. */
static bool run(struct outcome *out, const char *options)
{
    *out = (struct outcome){ .is_done = false };
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        train(out, options);
    if (child < 0 || waitpid(child, NULL, 0) != child)
        return false;
    if (out->is_done && out->n_done == N_BATCHES && out->n_held == N_BATCHES && isfinite(out->loss))
        return true;
    fprintf(stderr, "%s: %llu batches done, %llu in all parts, loss %g, %s\n", options, (unsigned long long)out->n_done,
            (unsigned long long)out->n_held, out->loss, out->message);
    return false;
}

/* Of N_BATCHES; `change`: options behind. */
static bool run_with(struct outcome *out, uint64_t seed, int n_workers, const char *change)
{
    char how[400];

    (void)snprintf(how, sizeof how,
                   "--model lenet --batch 8 --threads 1 --lr 0.02 --momentum 0 --mode ps --world sim --workers %d "
                   "--servers %d --steps %d --elastic --seed %llu --eval-samples 200%s",
                   n_workers, 1 + drawn(seed, 1, 2), N_BATCHES / n_workers, (unsigned long long)seed, change);
    return run(out, how);
}

/* As in the head of this file; above, below: differences to the first and the third. */
static bool is_between(const double *above, const double *below, size_t n)
{
    const struct interval a = interval_of_launches(above, n), b = interval_of_launches(below, n);

    printf("the final loss is above that without a change by %.4f, 95 %% %.4f .. %.4f, and above that of a worker less "
           "by %.4f, %.4f .. %.4f\n",
           a.mean, a.low, a.high, b.mean, b.low, b.high);
    return a.low <= 0 && b.high >= 0;
}

int main(int argc, char **argv)
{
    struct outcome *o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static double above[MOST_SEEDS], below[MOST_SEEDS];
    uint64_t first, n;
    int n_failures = 0, n_changes = 0;
    uint64_t n_again = 0;

    if (argc != 3 || !text_to_u64(argv[1], &first) || !text_to_u64(argv[2], &n) || n < 2 || n > MOST_SEEDS ||
        o == MAP_FAILED) {
        fprintf(stderr, "usage: elastic_seeds_test FIRST N\n");
        return 2;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t seed = first + i;
        char change[64];
        (void)snprintf(change, sizeof change, " --inject %s:%d@%d", drawn(seed, 2, 2) ? "kill" : "leave",
                       1 + drawn(seed, 3, N_WORKERS - 1), drawn(seed, 4, N_STEPS / 2));
        n_failures += !run_with(o, seed, N_WORKERS, "");
        above[i] = -o->loss;
        n_failures += !run_with(o, seed, N_WORKERS - 1, "");
        below[i] = -o->loss;
        n_failures += !run_with(o, seed, N_WORKERS, change);
        above[i] += o->loss;
        below[i] += o->loss;
        n_changes += o->n_losses;
        n_again += o->n_again;
    }
    printf("%llu seeds, %d left or died, %llu batches handed out again, %d failures\n", (unsigned long long)n,
           n_changes, (unsigned long long)n_again, n_failures);
    return n_failures > 0 || n_changes != (int)n || n_again == 0 || !is_between(above, below, (size_t)n);
}
