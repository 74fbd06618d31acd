/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic_train_test.c - --elastic (elastic.h): what it does to a run that loses nobody, what to one that does, and
 * what it does not go with. Batches that are lost or count twice: ps/recovery/elastic_test.c.
 *
 *   elastic_train_test           in threads
 *   elastic_train_test sim CASE  in virtual time, where a slow worker does less, and a lost one's batches are done
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/elastic.h"
#include "harness/train/suite/train_kit.h"
#include "models/workload.h"

enum { BATCH = 8, MOST_BATCHES = 64 };

#define LENET "--model lenet --batch 8 --threads 1 --lr 0.02 --eval-samples 0 --mode ps "

static atomic_int n_taken[MOST_BATCHES]; /* of batch b: how often its gradient was computed */

enum rc __real_workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                                 double *loss, grad_ready_fn *ready, void *arg);
enum rc __wrap_workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                                 double *loss, grad_ready_fn *ready, void *arg);

/* The probe has no argument. */
enum rc __wrap_workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                                 double *loss, grad_ready_fn *ready, void *arg)
{
    if (arg && first % BATCH == 0 && first / BATCH < MOST_BATCHES && n_samples == BATCH)
        atomic_fetch_add(&n_taken[first / BATCH], 1);
    return __real_workload_gradient(t, param, first, n_samples, grad, loss, ready, arg);
}

/* Since the last call batches [from, to) were taken once, and no others. */
static void were_taken(size_t from, size_t to)
{
    for (size_t b = 0; b < MOST_BATCHES; b++)
        assert_int_equal(atomic_exchange(&n_taken[b], 0), b >= from && b < to);
}

/* Batches [0, n) were taken once, but for n_twice of them, which were twice. */
static void were_taken_but(size_t n, size_t n_twice)
{
    size_t n_again = 0;

    for (size_t b = 0; b < MOST_BATCHES; b++) {
        const int times = atomic_exchange(&n_taken[b], 0);
        assert_true(times == (b < n) || (times == 2 && b < n));
        n_again += times == 2;
    }
    assert_int_equal(n_again, n_twice);
}

UNIT_TEST(what_it_does_not_go_with_is_refused)
{
    static const struct kit_refusal cases[] = {
        { "--mode allreduce --workers 2", "--elastic: this mode has no servers that assign batches; use --mode ps" },
        { "--mode single", "--elastic: this mode has no servers that assign batches; use --mode ps" },
        { "--mode none --workers 2", "--elastic: this mode has no servers that assign batches; use --mode ps" },
        { "--mode ps --workers 2 --consistency sync", "--elastic: no worker may wait" },
        { "--mode ps --workers 2 --consistency ssp:3", "use --consistency async" },
        { "--mode ps --workers 2 --replicas 1", "--servers 1 --replicas 1: use 2 servers or more" },
        { "--mode ps --workers 2 --servers 2 --replicas 1 --on-loss abort", "--on-loss abort ends it" },
        { "--mode ps --workers 2 --stop-at-step 9", "--stop-at-step ends it earlier" },
        { "--mode ps --workers 2 --push-every 2", "--push-every and --pull-every keep gradients in the worker" },
        { "--mode ps --workers 2 --pull-every 2", "--push-every and --pull-every keep gradients in the worker" },
        { "--mode ps --workers 2 --compression fp16", "--compression keeps what it has not sent" },
        { "--mode ps --workers 2 --overlap on", "use --overlap off" },
        { "--mode ps --workers 2 --split unequal:3,1", "use --split iid" },
        { "--mode ps --workers 2 --omit shard", "--omit shard: cannot be used with --elastic" },
        { "--mode ps --workers 2 --save f --save-every 2", "leave out --save-every" },
        { "--mode ps --workers 2 --trajectory f", "--trajectory and --messages need the same steps" },
        { "--mode ps --workers 2 --messages f", "--trajectory and --messages need the same steps" },
        { "--mode ps --workers 2 --most-workers 1", "--most-workers 1: 2 workers begin the run; at least as many" },
        { "--mode ps --workers 2 --most-workers 3",
          "--most-workers 3: no process can join in world threads; needs --world tcp" },
        { "--mode ps --workers 2 --inject leave:2",
          "--inject leave:2: worker 0 and servers cannot leave; workers 1 to 1" },
        { "--mode ps --workers 2 --inject leave:1@end", "--inject leave:1@end: a worker leaves between two steps" },
        { "--mode ps --workers 2 --inject leave:1,kill:1", "--inject kill:1: rank 1 fails already" },
        { "--mode ps --workers 2 --on-loss abort", "--on-loss abort ends it; leave out one of the two" },
    };

    kit_expect_each_refused("--model linear --elastic", cases, sizeof cases / sizeof *cases);
}

static size_t server_bytes_of(const char *options)
{
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, options), RC_OK);
    const size_t n_bytes = job.memory.server_bytes;
    train_job_free(&job);
    return n_bytes;
}

/* Of each chunk a server notes a bit for each batch, and the first one four numbers for each worker, and when each
 * round ended; with a replica it has the same of another server, and once more on its way to a new one. */
UNIT_TEST(memory_of_servers_is_counted)
{
    const size_t n_plain = server_bytes_of("--model lenet --mode ps --workers 2 --steps 64000 --on-loss report");
    const size_t n_one = server_bytes_of("--model lenet --mode ps --workers 2 --steps 64000 --elastic");
    const size_t n_many =
        server_bytes_of("--model lenet --mode ps --workers 2 --steps 64000 --elastic --bucket-bytes 4");
    const size_t n_book = 2 * 64000 / 8 + 8 + 2 * 4 * 8 + 64000 * 8;
    const size_t n_followed = server_bytes_of("--model lenet --mode ps --workers 2 --servers 2 --steps 64000 "
                                              "--on-loss report --replicas 1");
    const size_t n_both =
        server_bytes_of("--model lenet --mode ps --workers 2 --servers 2 --steps 64000 --elastic --replicas 1");

    assert_int_equal(n_one - n_plain, n_book);
    assert_int_equal(n_both - n_followed, 3 * n_book);
    assert_int_equal(n_many - n_one, 7 * (2 * 64000 / 8 + 8)); /* LeNet has 8 segments: weights and biases */
}

/* It implies --on-loss report, for one worker, too; without it nothing is handed out. */
UNIT_TEST(a_job_knows_its_batches)
{
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, "--model linear --mode ps --workers 3 --steps 7 --elastic"), RC_OK);
    assert_int_equal(job.exchange.n_batches, 21);
    assert_int_equal(train_most_steps(&job), 21);
    assert_int_equal(job.on_loss, ON_LOSS_REPORT);
    assert_string_equal(job.opts.on_loss, "report");
    const size_t elastic_bytes = job.memory.host_bytes;
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--model linear --mode ps --workers 3 --steps 7 --on-loss report"), RC_OK);
    assert_int_equal(job.exchange.n_batches, 0);
    assert_int_equal(train_most_steps(&job), 7);
    assert_true(elastic_bytes > job.memory.host_bytes); /* a worker may do all steps */
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--model linear --mode ps --elastic --steps 7"), RC_OK);
    train_job_free(&job);
}

static void is_whole(const struct train_result *r, uint64_t n_steps, uint64_t n_workers)
{
    uint64_t n_done = 0;

    for (int w = 0; w < r->n_workers; w++)
        n_done += r->rank[w].steps_count;
    assert_int_equal(n_done, n_steps * n_workers);
    assert_int_equal(r->final.steps_count, n_steps);
    assert_int_equal(r->final.samples_count, n_steps * n_workers * 8);
    assert_int_equal(r->n_rounds, n_steps);
    for (size_t i = 1; i < r->n_rounds; i++)
        assert_true(r->round_ns[i] >= r->round_ns[i - 1] && r->round_ns[0] > 0);
}

/* One worker gets the batches in order, and so does what it does without. */
UNIT_TEST(one_worker_ends_with_the_same_bits)
{
    struct train_result plain, elastic;

    kit_must_train(&plain, LENET "--workers 1 --servers 2 --steps 20 --lr-scaling linear:0.1");
    were_taken(0, 20);
    kit_must_train(&elastic, LENET "--workers 1 --servers 2 --steps 20 --lr-scaling linear:0.1 --elastic");
    is_whole(&elastic, 20, 1);
    were_taken(0, 20);
    assert_memory_equal(elastic.final.param, plain.final.param, plain.final.n_params * sizeof(float));
    for (int i = 0; i < 20; i++)
        assert_true(elastic.lr[i] == plain.lr[i]);
    train_result_free(&plain);
    train_result_free(&elastic);
}

/* What a run of several is saved as one goes on from. */
UNIT_TEST(a_saved_run_goes_on)
{
    char path[] = "/tmp/elastic_train_test.XXXXXX", text[256];
    struct train_result first, second;

    kit_make_file(path);
    kit_must_train(&first, LENET "--workers 3 --steps 10 --elastic");
    is_whole(&first, 10, 3);
    were_taken(0, 30);
    assert_int_equal(checkpoint_save(&first.final, path, NULL, NULL), RC_OK);
    (void)snprintf(text, sizeof text, LENET "--workers 3 --steps 16 --elastic --resume %s", path);
    kit_must_train(&second, text);
    were_taken(30, 48);
    assert_int_equal(second.n_rounds, 6);
    assert_int_equal(second.final.steps_count, 16);
    assert_int_equal(second.final.samples_count, 16 * 3 * 8);
    train_result_free(&first);
    train_result_free(&second);
    unlink(path);
}

/* --- figures, of a made-up result --- */

/* Rounds of 2 workers x batch 5 end every 0.1 s: 100 samples/s, whatever the worker that is left has stamped. */
UNIT_TEST(throughput_is_of_all_batches_V1)
{
    enum { N_ROUNDS = 21 };
    struct step_stamp stamp[3] = { { .start_ns = 0, .ready_ns = 1, .end_ns = 2 },
                                   { .start_ns = 2, .ready_ns = 3, .end_ns = 4 },
                                   { .start_ns = 4, .ready_ns = 5, .end_ns = 6 } };
    uint64_t round_ns[N_ROUNDS];
    const struct train_job job = { .opts = { .batch = 5 },
                                   .n_workers = 2,
                                   .n_servers = 2,
                                   .n_steps = N_ROUNDS,
                                   .exchange = { .n_batches = 2 * N_ROUNDS } };
    struct train_rank_info rank[3] = {
        { .steps_count = 41 },
        { .served = { .has_book = true,
                      .batches_done_count = 42,
                      .batches_again_count = 1,
                      .batches_held_count = 42,
                      .batches_whole_count = 42 } },
        { .served = { .batches_held_count = 42, .batches_whole_count = 42, .repeated_parts_count = 1 } },
    };
    struct train_result r = { .n_workers = 1,
                              .n_ranks = 3,
                              .n_steps = 3,
                              .stamp = stamp,
                              .round_ns = round_ns,
                              .n_rounds = N_ROUNDS,
                              .rank = rank };
    const struct steps steps = { .stamp = stamp, .n_workers = 1, .n_steps = 3, .batch_per_worker_count = 5 };
    struct steps_summary s;
    char text[160];

    for (uint64_t i = 0; i < N_ROUNDS; i++)
        round_ns[i] = (i + 1) * 100000000;
    assert_int_equal(train_measure(&s, &job, &r, &steps), RC_OK);
    assert_true(fabs(s.throughput_samples_per_s.mean - 100) < 1e-6);
    assert_int_equal(s.n_rounds, N_ROUNDS - 1);
    assert_true(fabs(s.elapsed_s - 2.1) < 1e-9);
    assert_int_equal(train_n_counted(&job, &r), 2);
    assert_int_equal(train_n_whole_steps(&job, &r), N_ROUNDS);
    assert_string_equal(elastic_text(text, sizeof text, &job, &r),
                        "41: 42 of 42 batches, 1 handed out again, 0 samples lost");
    rank[2].served.batches_held_count = 40; /* one server has not all: they are lost */
    rank[2].served.batches_whole_count = 7;
    assert_string_equal(elastic_text(text, sizeof text, &job, &r),
                        "41: 40 of 42 batches, 1 handed out again, 10 samples lost");
    assert_int_equal(train_n_whole_steps(&job, &r), 3);
    r.stop_signal = 15; /* of one that was stopped, those that were done alone */
    rank[1].served.batches_done_count = 41;
    assert_string_equal(elastic_text(text, sizeof text, &job, &r),
                        "41: 40 of 42 batches, 1 handed out again, 5 samples lost");
}

/* A worker that is left alone does all. */
UNIT_TEST(a_worker_may_do_all_batches)
{
    static const struct {
        const char *options;
        size_t n_most;
    } cases[] = {
        { "--servers 4 --steps 40", 120 },
        { "--servers 4 --steps 40 --replicas 1", 120 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_job job = { 0 };
        char text[256];
        (void)snprintf(text, sizeof text, "--model lenet --mode ps --workers 3 --elastic %s", cases[i].options);
        assert_int_equal(kit_prepare(&job, text), RC_OK);
        assert_int_equal(train_most_steps(&job), cases[i].n_most);
        train_job_free(&job);
    }
}

/* Who had the book was lost when all was over: another one that follows it knows it, or nobody does. */
UNIT_TEST(a_book_is_that_of_its_follower_or_not_known)
{
    struct train_job job = { .n_workers = 2, .opts = { .batch = 5 }, .exchange = { .n_batches = 42 } };
    struct train_rank_info rank[] = {
        { .steps_count = 41 },
        { .served = { .batches_done_count = 40, .batches_again_count = 7, .batches_held_count = 42 } },
        { .served = { .follows_book = true,
                      .batches_done_count = 42,
                      .batches_again_count = 3,
                      .batches_held_count = 41 } },
    };
    struct train_result r = { .n_workers = 1, .n_ranks = 3, .n_steps = 3, .rank = rank };
    char text[256];

    assert_int_equal(elastic_book_rank(&r), 2);
    assert_string_equal(elastic_text(text, sizeof text, &job, &r),
                        "41: 41 of 42 batches, 3 handed out again, 5 samples lost");
    rank[1].served.has_book = true;
    assert_int_equal(elastic_book_rank(&r), 1);
    assert_string_equal(elastic_text(text, sizeof text, &job, &r),
                        "41: 41 of 42 batches, 7 handed out again, 5 samples lost");
    rank[1].served.has_book = rank[2].served.follows_book = false;
    assert_int_equal(elastic_book_rank(&r), -1);
    assert_string_equal(elastic_text(text, sizeof text, &job, &r),
                        "41: 41 of 42 batches, 5 samples lost; those handed out again are not known: the server that "
                        "counted them was lost behind the last one");
    r.stop_signal = 15;
    assert_string_equal(elastic_text(text, sizeof text, &job, &r),
                        "41: 41 of 42 batches; those handed out again, and those lost, are not known: the server that "
                        "counted them was lost behind the last one");
}

/* Who may take a server's place has its parameters, too. */
UNIT_TEST(memory_of_a_slice_to_take_over_is_counted)
{
    const char *const run =
        "--model lenet --mode ps --workers 2 --servers 2 --on-loss report --optimizer adam --lr 0.01";
    const size_t n_plain = server_bytes_of(run);
    char text[256];

    (void)snprintf(text, sizeof text, "%s --replicas 1", run);
    assert_int_equal(server_bytes_of(text), 2 * n_plain);
    struct train_job job = { 0 };
    assert_int_equal(kit_prepare(&job, run), RC_OK);
    const size_t n_even = job.n_params / 2 + 1, n_most = placement_most_elems(&job.placement);
    const size_t n_slice = n_most > n_even ? n_most : n_even;
    train_job_free(&job);
    assert_int_equal(n_plain, n_slice * sizeof(float) * (1 + 2 * 2 + 2 * 2)); /* versions and sums; moments, twice */
}

/* --- in sim --- */

static const char *sim_case;

UNIT_TEST_OF("sim", in_sim)
{
    struct train_result r;

    if (strcmp(sim_case, "slow") == 0) { /* who is slow does less, and the others what is left */
        kit_must_train(&r, LENET "--world sim --workers 3 --servers 2 --steps 12 --elastic --inject rank:2=0.25");
        is_whole(&r, 12, 3);
        were_taken(0, 36);
        assert_true(r.rank[2].steps_count < r.rank[0].steps_count);
        assert_int_equal(r.n_steps, r.rank[2].steps_count);
    } else if (strcmp(sim_case, "lost") == 0) { /* its batch of step 5 is another one's, and the last of the 5 that it
                                                   has done: nothing of its next one has said so */
        kit_must_train(&r, LENET "--world sim --workers 3 --servers 2 --steps 12 --elastic --inject kill:1@5");
        were_taken_but(36, 1);
        assert_int_equal(r.n_workers, 2);
        assert_int_equal(r.n_losses, 1);
        assert_int_equal(r.rank[0].steps_count + r.rank[1].steps_count, 36 - 4);
        assert_int_equal(r.rank[2].served.batches_done_count, 36);
        assert_int_equal(r.rank[2].served.batches_again_count, 2);
        for (int s = 2; s < 4; s++) {
            assert_int_equal(r.rank[s].served.batches_held_count, 36);
            assert_int_equal(r.rank[s].served.batches_whole_count, 36);
            assert_int_equal(r.rank[s].served.repeated_parts_count, 1); /* all of it is one chunk */
        }
        assert_int_equal(r.final.steps_count, 12);
        assert_int_equal(r.n_rounds, 12);
    } else if (strcmp(sim_case, "left") == 0) { /* it has done 5, and what it has not is another one's */
        kit_must_train(&r, LENET "--world sim --workers 3 --servers 2 --steps 12 --elastic --inject leave:1@5");
        were_taken(0, 36);
        assert_int_equal(r.n_workers, 2);
        assert_int_equal(r.n_losses, 1);
        assert_true(r.loss[0].has_left && r.loss[0].rank == 1);
        assert_int_equal(r.rank[0].steps_count + r.rank[1].steps_count, 36 - 5);
        assert_int_equal(r.rank[2].served.batches_done_count, 36);
        assert_int_equal(r.rank[2].served.batches_again_count, 0); /* it gave back none */
        assert_int_equal(r.rank[2].served.repeated_parts_count + r.rank[3].served.repeated_parts_count, 0);
        assert_int_equal(r.final.steps_count, 12);
        assert_int_equal(r.n_rounds, 12);
    } else if (strcmp(sim_case, "gone") ==
               0) { /* before its first step: the batch that it was to begin with is again */
        kit_must_train(&r, LENET "--world sim --workers 3 --servers 2 --steps 4 --elastic --inject leave:2@0");
        were_taken(0, 12);
        assert_int_equal(r.n_workers, 2);
        assert_int_equal(r.rank[2].served.batches_done_count, 12);
        assert_int_equal(r.rank[2].served.batches_again_count, 1);
    } else { /* hollow: a network that nobody computes */
        kit_must_train(&r, "--model vgg16 --world sim --compute hollow --mode ps --workers 4 --servers 2 --steps 4 "
                           "--elastic --inject kill:3@2");
        assert_int_equal(r.rank[3].served.batches_done_count, 16);
        assert_int_equal(r.rank[3].served.batches_again_count, 2);
    }
    train_result_free(&r);
}

int main(int argc, char **argv)
{
    sim_case = argc > 2 ? argv[2] : NULL;
    return unit_run("elastic", sim_case ? "sim" : NULL, NULL, NULL);
}
