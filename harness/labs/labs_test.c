/* SPDX-License-Identifier: Apache-2.0 */
/* labs_test.c - the least point of the loss, a trajectory read back, and names of labs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset.h"
#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"
#include "harness/labs/lab.h"
#include "harness/labs/ring_steps.h"
#include "harness/labs/squares.h"
#include "harness/labs/training.h"

/* By its definition, sample by sample. */
static double loss_of_samples(const struct dataset *d, double slope, double offset)
{
    double sum = 0;

    for (size_t i = 0; i < d->n_train; i++) {
        const double missed = slope * (double)d->feature[i] + offset - (double)d->target[i];
        sum += missed * missed;
    }
    return sum / (double)d->n_train;
}

UNIT_TEST(loss)
{
    static const double at[][2] = { { 0, 0 }, { 2, 0 }, { 3.5, -0.25 }, { -1, 7 } };
    struct dataset *d = NULL;
    struct squares s;

    assert_int_equal(dataset_open_line(&d, 5), RC_OK);
    assert_int_equal(squares_of_line(&s, 5), RC_OK);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        assert_true(fabs(squares_loss(&s, at[i][0], at[i][1]) - loss_of_samples(d, at[i][0], at[i][1])) < 1e-9);
    dataset_close(&d);
}

/* Means of which the least point is known: y = 3 x - 2 without noise, x of mean 1 and mean square 4. */
UNIT_TEST(least)
{
    const struct squares s = { .x = 1, .y = 1, .xx = 4, .xy = 10, .yy = 28 };
    const struct line_point p = squares_least(&s);

    assert_true(fabs(p.slope - 3) < 1e-12 && fabs(p.offset + 2) < 1e-12);
    assert_true(fabs(squares_loss(&s, p.slope, p.offset)) < 1e-12);
}

static enum rc read_text(struct training_path *out, const char *text, char *path)
{
    make_text(path, text);
    *out = (struct training_path){ .point = NULL };
    const enum rc rc = training_read(out, path);
    (void)unlink(path);
    return rc;
}

#define HEAD "worker,step,time_s,samples_count,loss,slope,offset\n"

UNIT_TEST(reads)
{
    char path[] = "/tmp/labs_test.XXXXXX";
    struct training_path t;

    assert_int_equal(read_text(&t, HEAD "0,0,0.5,0,1,2,3\n0,1,1.5,20,nan,4,5\n1,0,0,0,1,6,7\n1,1,1,20,nan,8,9\n", path),
                     RC_OK);
    assert_int_equal(t.n_workers, 2);
    assert_int_equal(t.n_points, 2);
    assert_true(t.point[1].time_s == 1.5 && t.point[1].samples_count == 20);
    assert_true(t.point[1].slope == 4 && t.point[1].offset == 5);
    assert_true(t.point[2].slope == 6 && t.point[3].offset == 9);
    training_close(&t);
}

UNIT_TEST(refuses)
{
    static const struct {
        const char *text, *message;
    } c[] = { { "", ":1: is not the head" },
              { "worker,step\n", ":1: is not the head" },
              { HEAD, "has 0 rows" },
              { HEAD "0,0,0,0,1,2,3\n0,1,x,0,1,2,3\n", ":3: is no row" },
              { HEAD "0,0,0,0,1,2\n", ":2: is no row" },
              { HEAD "0,0,0,0,1,2,3,4\n", ":2: is no row" },
              { HEAD "0,0,0,0,1,2,3\n0,1,0,0,1,2,3\n1,0,0,0,1,2,3\n", "has 3 rows of 2 workers" } };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char path[] = "/tmp/labs_test.XXXXXX";
        struct training_path t;
        assert_int_equal(read_text(&t, c[i].text, path), RC_MISMATCH);
        if (!strstr(rc_message(), c[i].message) || !strstr(rc_message(), path))
            fail_msg("case %zu: '%s' has no '%s'", i, rc_message(), c[i].message);
        training_close(&t);
    }
}

/* Both ends of a message of one training step; to: -1: received beside the gradients, and added. */
static void send_chunk(struct moved *m, int from, int to, double offset, double into, uint32_t tag)
{
    const struct moved_message sent = { .rank = from, .peer = to, .tag = tag, .n_bytes = 8, .offset_bytes = offset };
    struct moved_message got = sent;

    got.rank = to;
    got.peer = from;
    got.is_received = true;
    got.offset_bytes = into < 0 ? (double)NAN : into;
    m->message[m->n++] = sent;
    m->message[m->n++] = got;
}

/* Two workers: each sends a chunk, which is added; then the sum of the other one. */
static void make_ring(struct moved *m)
{
    m->n = 0;
    send_chunk(m, 0, 1, 0, -1, 1);
    send_chunk(m, 1, 0, 8, -1, 1);
    send_chunk(m, 0, 1, 8, 8, 2);
    send_chunk(m, 1, 0, 0, 0, 2);
}

UNIT_TEST(ring)
{
    struct moved_message room[16];
    struct moved m = { .message = room };
    struct ring_steps s;

    make_ring(&m);
    assert_int_equal(ring_steps_find(&s, &m, 2), RC_OK);
    assert_int_equal(s.n_steps, 2);
    assert_int_equal(s.n_chunks, 2);
    assert_true(s.sent[0][0].adds && s.sent[0][1].adds && !s.sent[1][0].adds);
    assert_int_equal(s.sent[0][1].chunk, 1);
    assert_int_equal(s.held[0][1][0], 2);
    assert_int_equal(s.held[1][1][0], 3);
    assert_int_equal(s.held[1][0][0], 1);
    assert_true(ring_steps_are_whole(&s));
    m.n = 4; /* the first half alone */
    assert_int_equal(ring_steps_find(&s, &m, 2), RC_OK);
    assert_false(ring_steps_are_whole(&s));
}

static void assert_no_ring(const struct moved *m, const char *message)
{
    struct ring_steps s;

    assert_int_equal(ring_steps_find(&s, m, 2), RC_MISMATCH);
    if (!strstr(rc_message(), message))
        fail_msg("'%s' has no '%s'", rc_message(), message);
}

UNIT_TEST(no_ring)
{
    struct moved_message room[16];
    struct moved m = { .message = room };

    make_ring(&m);
    room[5].offset_bytes = (double)NAN; /* the sum of chunk 1 is added once more */
    assert_no_ring(&m, "in step 1 rank 1 adds to chunk 1 what is in it");
    make_ring(&m);
    room[5].offset_bytes = 0;
    assert_no_ring(&m, "rank 1 received chunk 1 of rank 0 into another one");
    make_ring(&m);
    room[1].tag = 7;
    assert_no_ring(&m, "rank 1 did not receive message 0 of rank 0");
    make_ring(&m);
    m.n--;
    assert_no_ring(&m, "rank 0 sent 2 messages and received 1");
    make_ring(&m);
    room[6].offset_bytes = 16;
    assert_no_ring(&m, "more places than a ring of 2 has chunks");
}

/* Two workers and a server, which workers alone tell of; a message of no step does not count. */
UNIT_TEST(sums)
{
    struct moved_message room[16];
    struct moved m = { .message = room };

    send_chunk(&m, 0, 2, 0, -1, 1);
    send_chunk(&m, 1, 2, 0, -1, 1);
    send_chunk(&m, 2, 0, 0, -1, 1);
    for (size_t i = 0; i < m.n; i++)
        room[i].step = room[i].rank == 2 ? (double)NAN : 0;
    room[m.n++] = (struct moved_message){ .rank = 0, .peer = 2, .step = (double)NAN, .n_bytes = 1000 };
    room[0].start_s = 0.5;
    room[0].end_s = room[2].start_s = room[2].end_s = room[5].start_s = 1;
    room[5].end_s = 2;
    const struct moved_bytes b = moved_sum(&m, 2, 3);
    assert_int_equal(b.worker_mean_bytes, 8);
    assert_int_equal(b.busiest_bytes, 16);
    assert_true(b.took_s == 1.5);
}

UNIT_TEST(names)
{
    const struct lab *lab = NULL;

    for (int i = 0; lab_at(i); i++) {
        assert_int_equal(lab_find(&lab, lab_at(i)->name), RC_OK);
        assert_ptr_equal(lab, lab_at(i));
    }
    assert_int_equal(lab_find(&lab, "bach-size"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "bach-size: there is no such lab; did you mean batch-size?"));
    assert_int_equal(lab_find(&lab, "zzzzzzzzz"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "the labs: batch-size"));
}

UNIT_MAIN("labs")
