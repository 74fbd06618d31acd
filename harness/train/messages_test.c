/* SPDX-License-Identifier: Apache-2.0 */
/* messages_test.c - each message of a run is noted at both its ends, in its place; and how the table is written. */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/net/message_log.h"
#include "harness/train/messages.h"
#include "harness/train/suite/train_kit.h"

enum { P = 3, STEPS = 2, N_PARAMS = 13706 }; /* of lenet on 8 x 8 digits */

static void run(struct train_result *out, const char *way)
{
    char options[256];

    (void)snprintf(options, sizeof options, "--model lenet --batch 2 --steps %d --messages unused %s", STEPS, way);
    kit_must_train(out, options);
}

static const struct logged_message *of_rank(const struct train_result *r, int rank)
{
    const struct logged_message *m = r->message;

    for (int i = 0; i < rank; i++)
        m += r->n_messages[i];
    return m;
}

/* How many of rank's are so; *n_bytes := theirs, of bodies. */
static size_t count(const struct train_result *r, int rank, uint32_t is_received, uint64_t *n_bytes)
{
    const struct logged_message *m = of_rank(r, rank);
    size_t n = 0;

    *n_bytes = 0;
    for (uint64_t i = 0; i < r->n_messages[rank]; i++)
        if (m[i].is_received == is_received) {
            *n_bytes += m[i].n_bytes;
            n++;
        }
    return n;
}

/* The other end of m, which rank `from` sent: how many there are. */
static int n_other_ends(const struct train_result *r, int from, const struct logged_message *m)
{
    const struct logged_message *other = of_rank(r, m->peer);
    int n = 0;

    for (uint64_t i = 0; i < r->n_messages[m->peer]; i++)
        n += other[i].is_received && other[i].peer == from && other[i].tag == m->tag &&
             other[i].n_bytes == m->n_bytes && other[i].end_ns >= m->start_ns;
    return n;
}

/* Of a ring a rank sends 2 (p - 1) chunks a step, each from its place in the gradients, to its right neighbour. */
UNIT_TEST(ring)
{
    struct train_result r;
    uint64_t sent_bytes, received_bytes, all_bytes = 0;

    run(&r, "--mode allreduce --workers 3");
    for (int rank = 0; rank < P; rank++) {
        const struct logged_message *m = of_rank(&r, rank);
        assert_int_equal(count(&r, rank, 0, &sent_bytes), STEPS * 2 * (P - 1));
        assert_int_equal(count(&r, rank, 1, &received_bytes), STEPS * 2 * (P - 1));
        all_bytes += sent_bytes;
        for (uint64_t i = 0, n_sent = 0; i < r.n_messages[rank]; i++) {
            assert_int_equal(m[i].step, i / (4 * (P - 1)));
            assert_int_equal(m[i].peer, (rank + (m[i].is_received ? P - 1 : 1)) % P);
            assert_true(m[i].start_ns <= m[i].end_ns && m[i].n_head_bytes == 0);
            if (m[i].is_received)
                continue;
            if (n_sent++ % (2 * (P - 1)) == 0) /* of a step: the chunk of its own number */
                assert_int_equal((m[i].offset_bytes + P * sizeof(float)) / (N_PARAMS / P * sizeof(float)), rank);
            assert_int_equal(n_other_ends(&r, rank, &m[i]), 1);
            /* chunks are 4569, 4569 and 4568 elements long, or so */
            assert_true(m[i].offset_bytes % (N_PARAMS / P * sizeof(float)) <= P * sizeof(float));
            assert_true(m[i].offset_bytes + m[i].n_bytes <= N_PARAMS * sizeof(float));
        }
    }
    assert_int_equal(all_bytes, STEPS * 2 * (P - 1) * N_PARAMS * sizeof(float));
    train_result_free(&r);
}

/* A worker sends its gradient and gets the parameters; the server's own messages are no step's. */
UNIT_TEST(servers)
{
    struct train_result r;
    uint64_t n_bytes;

    run(&r, "--mode ps --workers 2 --servers 1");
    for (int rank = 0; rank < 2; rank++) {
        const struct logged_message *m = of_rank(&r, rank);
        for (uint64_t i = 0, n_pushes = 0; i < r.n_messages[rank]; i++)
            if (m[i].step < STEPS && !m[i].is_received && m[i].n_bytes > 0) {
                assert_int_equal(m[i].offset_bytes, 0);
                assert_int_equal(m[i].n_bytes, N_PARAMS * sizeof(float));
                assert_int_equal(m[i].n_head_bytes, 64);
                assert_int_equal(m[i].step, n_pushes++);
            }
    }
    assert_true(count(&r, 2, 1, &n_bytes) >= 2 * STEPS);
    assert_int_equal(n_bytes, 2 * STEPS * N_PARAMS * sizeof(float));
    for (uint64_t i = 0; i < r.n_messages[2]; i++)
        assert_true(of_rank(&r, 2)[i].step == MESSAGE_NO_STEP && of_rank(&r, 2)[i].offset_bytes == MESSAGE_ELSEWHERE);
    train_result_free(&r);
}

/* More than a round has (MESSAGES_OF_A_ROUND), and on the server as many as on both workers: all are there, in order.
 */
UNIT_TEST(many)
{
    enum { N_STEPS = 12000 };
    struct train_result r;
    uint64_t n_of_workers = 0;

    assert_int_equal(kit_train(&r,
                               "--model linear --mode ps --workers 2 --servers 1 --steps 12000 --messages unused "
                               "--eval-samples 0",
                               NULL, 0),
                     RC_OK);
    for (int rank = 0; rank < 2; rank++) {
        const struct logged_message *m = of_rank(&r, rank);
        uint32_t next = 0;
        n_of_workers += r.n_messages[rank];
        for (uint64_t i = 0; i < r.n_messages[rank]; i++) {
            assert_true(i == 0 || m[i].end_ns >= m[i - 1].end_ns);
            if (m[i].step != MESSAGE_NO_STEP && !m[i].is_received)
                assert_int_equal(m[i].step, next++);
        }
        assert_int_equal(next, N_STEPS);
    }
    assert_int_equal(r.n_messages[2], n_of_workers); /* each has two ends, of which one is the server's */
    assert_true(r.n_messages[0] > 0 && r.n_messages[2] > MESSAGES_OF_A_ROUND / 3);
    for (uint64_t i = 1; i < r.n_messages[2]; i++)
        assert_true(of_rank(&r, 2)[i].end_ns >= of_rank(&r, 2)[i - 1].end_ns);
    train_result_free(&r);
}

static uint64_t n_sent_of_all(const char *way)
{
    struct train_result r;
    uint64_t n = 0, n_bytes;

    run(&r, way);
    for (int rank = 0; rank < r.n_ranks; rank++)
        n += count(&r, rank, 0, &n_bytes);
    train_result_free(&r);
    return n;
}

/* exchange.Y3: the order of chunks is static, and nobody is told, but where priority changes it: then each of the 5
 * goes down the tree of workers, in every step. */
UNIT_TEST(order_is_told_with_priority_alone)
{
    const uint64_t n_plain = n_sent_of_all("--mode allreduce --workers 3 --bucket-bytes 8Ki");

    assert_int_equal(n_plain, STEPS * 5 * P * 2 * (P - 1)); /* of a ring */
    assert_int_equal(n_sent_of_all("--mode allreduce --workers 3 --bucket-bytes 8Ki --overlap on"), n_plain);
    assert_int_equal(n_sent_of_all("--mode allreduce --workers 3 --bucket-bytes 8Ki --priority on"), n_plain);
    assert_int_equal(n_sent_of_all("--mode allreduce --workers 3 --bucket-bytes 8Ki --overlap on --priority on"),
                     n_plain + STEPS * 5 * (P - 1));
}

/* What is planned for is what there will be, and a few more. */
UNIT_TEST(planned)
{
    static const char *const way[] = {
        "--model lenet --mode allreduce --workers 3 --steps 7",
        "--model lenet --mode allreduce --workers 3 --steps 7 --bucket-bytes 8Ki --partition-bytes 4000",
        "--model lenet --mode allreduce --workers 3 --steps 7 --bucket-bytes 8Ki --overlap on --priority on",
        "--model lenet --mode allreduce --workers 2 --reducer root --steps 7",
        "--model lenet --mode allreduce --workers 2 --momentum 0 --average-every 3 --steps 9",
        "--model lenet --mode ps --workers 3 --servers 2 --steps 7",
        "--model lenet --mode ps --workers 2 --servers 3 --placement whole --bucket-bytes 8Ki --steps 7",
    };

    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        char options[256];
        struct train_result r;
        struct train_job job;
        size_t n_planned, n = 0;
        (void)snprintf(options, sizeof options, "%s --messages unused --batch 2", way[i]);
        assert_int_equal(kit_prepare(&job, options), RC_OK);
        assert_int_equal(job_messages_count(&n_planned, &job), RC_OK);
        const size_t n_others = (size_t)(2 * 8 * job.n_workers * (job.n_servers > 0 ? job.n_servers : 1));
        const size_t host_bytes = job.memory.host_bytes;
        train_job_free(&job);
        (void)snprintf(options, sizeof options, "%s --batch 2", way[i]);
        assert_int_equal(kit_prepare(&job, options), RC_OK);
        assert_true(host_bytes >= job.memory.host_bytes + 2 * n_planned * sizeof(struct logged_message));
        train_job_free(&job);
        (void)snprintf(options, sizeof options, "%s --messages unused --batch 2", way[i]);
        assert_int_equal(kit_train(&r, options, NULL, 0), RC_OK);
        for (int rank = 0; rank < r.n_ranks; rank++)
            n += r.n_messages[rank];
        if (n > n_planned || n + 2 * n_others < n_planned)
            fail_msg("%s: %zu messages, planned are %zu", way[i], n, n_planned);
        train_result_free(&r);
    }
}

UNIT_TEST(refuses_what_does_not_fit)
{
    struct train_job job;

    assert_int_equal(kit_prepare(&job, "--model linear --mode allreduce --workers 2 --steps 1000 --messages m"), RC_OK);
    job.opts.messages = "m";
    job.memory.available_bytes = job.memory.host_bytes + 1000 * 8 * sizeof(struct logged_message);
    assert_int_equal(job_messages_resolve(&job), RC_INVAL);
    assert_names(rc_message(), "--messages m: ... 1000 steps ... 2 ranks");
    assert_non_null(strstr(rc_message(), "fewer --steps"));
    job.memory.available_bytes *= 100;
    assert_int_equal(job_messages_resolve(&job), RC_OK);
    train_job_free(&job);
    const enum rc rc = kit_prepare(&job, "--model linear --world sim --compute hollow --mode allreduce --workers 1024 "
                                         "--steps 100000000 --messages m");
    if (rc != RC_UNSUPPORTED) { /* this build has sim */
        assert_int_equal(rc, RC_INVAL);
        assert_non_null(strstr(rc_message(), "the messages of 100000000 steps of 1024 ranks"));
    }
}

UNIT_TEST(nobody_asked)
{
    struct train_result r;

    assert_int_equal(kit_train(&r, "--model linear --steps 2 --mode allreduce --workers 2", NULL, 0), RC_OK);
    assert_null(r.message);
    assert_null(r.n_messages);
    train_result_free(&r);
}

UNIT_TEST(refuses)
{
    kit_expect_refused("--model lenet --messages m.csv", "--messages m.csv: this mode sends no messages");
    kit_expect_refused("--model lenet --mode none --workers 2 --messages m.csv",
                       "--messages m.csv: this mode sends no messages");
    kit_expect_refused("--mode allreduce --workers 2 --omit average --messages m.csv",
                       "--omit average exchanges nothing");
    kit_expect_refused("--mode allreduce --workers 2 --save s --restarts 2 --messages m.csv",
                       "leave out one of the two");
}

static void assert_written(const struct train_result *r, const char *wanted)
{
    char path[] = "/tmp/messages_test.XXXXXX", text[1024] = "";

    kit_make_file(path);
    assert_int_equal(messages_write(path, r), RC_OK);
    kit_take_file(path, text, sizeof text);
    assert_string_equal(text, wanted);
}

/* Two ranks, of which the second is rank 3 of the run. Times are those of the timeline if there is one. */
UNIT_TEST(table)
{
    static const char wanted[] =
        "rank,step,direction,peer,tag,start_s,end_s,bytes_count,header_bytes_count,offset_bytes,adds\n"
        "0,7,send,3,4096,0.000001000,0.000003500,400,0,800,0\n"
        "3,7,receive,0,4096,0.000000000,0.000004000,400,8,nan,1\n"
        "3,nan,send,0,9,0.000005000,0.000005000,12,64,0,0\n";
    static const char of_timeline[] =
        "rank,step,direction,peer,tag,start_s,end_s,bytes_count,header_bytes_count,offset_bytes,adds\n"
        "0,7,send,3,4096,-0.000000500,0.000002000,400,0,800,0\n"
        "3,7,receive,0,4096,-0.000001500,0.000002500,400,8,nan,1\n"
        "3,nan,send,0,9,0.000003500,0.000003500,12,64,0,0\n";
    struct logged_message message[] = {
        { .start_ns = 2000, .end_ns = 4500, .n_bytes = 400, .offset_bytes = 800, .tag = 4096, .step = 7, .peer = 3 },
        { .start_ns = 1000,
          .end_ns = 5000,
          .n_bytes = 400,
          .n_head_bytes = 8,
          .offset_bytes = MESSAGE_ELSEWHERE,
          .tag = 4096,
          .step = 7,
          .peer = 0,
          .is_received = 1,
          .is_added = 1 },
        { .start_ns = 6000, .end_ns = 6000, .n_bytes = 12, .n_head_bytes = 64, .tag = 9, .step = MESSAGE_NO_STEP }
    };
    uint64_t n_messages[] = { 1, 2 };
    struct train_rank_info rank[] = { { .number = 0 }, { .number = 3 } };
    struct train_result r = { .n_ranks = 2, .message = message, .n_messages = n_messages, .rank = rank };

    assert_written(&r, wanted);
    r.has_timeline = true;
    r.timeline_zero_ns = 2500;
    assert_written(&r, of_timeline);
    assert_int_equal(messages_sum_ns(&r), 18500); /* of the times in `wanted`: it does not depend on the timeline */
    message[1].end_ns++;
    assert_int_equal(messages_sum_ns(&r), 18501);
}

UNIT_MAIN("messages")
