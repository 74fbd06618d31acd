/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_test.c - what a server reads of the one whose place it takes: nothing of a file that is not as it was
 * written, or of another run; and the clocks that were noted behind it (snapshot.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/ps.h"
#include "ps/server.h"
#include "ps/server_state.h"
#include "ps/snapshot.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 3, N_SERVERS = 2, N_PARAMS = 20, N_PIECES = 2, MOST_BYTES = 2048, PATH_BYTES = 64 };

struct servers { /* of one process, which never run: 0 writes, 1 is its heir */
    struct world world[N_SERVERS];
    struct transport transport;
    struct ps_rank rank;
    struct ps_server *server[N_SERVERS];
    char folder[PATH_BYTES];
};

static void open_servers(struct servers *s, enum consistency_kind kind, double momentum)
{
    const struct segment segment[N_PIECES] = { { 0, 12 }, { 12, 8 } };
    const struct placement_opts split = { PLACEMENT_SPLIT, 0 };
    const struct bucket_opts each = { sizeof(float), 0 };
    float param[N_PARAMS];

    *s = (struct servers){ .folder = "gm_snapshot_test.XXXXXX" };
    for (int i = 0; i < N_PARAMS; i++)
        param[i] = (float)i;
    assert_non_null(mkdtemp(s->folder));
    assert_int_equal(compute_open(&s->rank.compute, &compute_cpu, &(struct compute_env){ 0 }), RC_OK);
    assert_int_equal(buckets_open(&s->rank.buckets, segment, N_PIECES, &each), RC_OK);
    assert_int_equal(s->rank.buckets.n_pieces, N_PIECES);
    assert_int_equal(placement_open(&s->rank.placement, &split, segment, N_PIECES, N_SERVERS), RC_OK);
    assert_int_equal(transport_find(&s->transport.ops, "inproc"), RC_OK);
    assert_int_equal(world_find(&s->world[0].ops, "threads"), RC_OK);
    for (int i = 0; i < N_SERVERS; i++) {
        s->world[i] = (struct world){ .ops = s->world[0].ops, .rank = N_WORKERS + i, .n_ranks = N_WORKERS + N_SERVERS };
        const struct sync_env env = { .world = &s->world[i],
                                      .compute = s->rank.compute,
                                      .transport = &s->transport,
                                      .buckets = &s->rank.buckets,
                                      .placement = &s->rank.placement,
                                      .consistency = { kind, kind == CONSISTENCY_SSP ? 2 : 0 },
                                      .optimizer = optimizer_sgd(momentum, 0),
                                      .n_workers = N_WORKERS,
                                      .n_servers = N_SERVERS,
                                      .n_steps = 9,
                                      .slice_param = param + i * N_PARAMS / N_SERVERS,
                                      .snapshots = s->folder,
                                      .snapshot_every = 5 };
        if (ps_server_open(&s->server[i], &env) != RC_OK)
            fail_msg("%s", rc_message());
    }
}

static const char *path_of(const struct servers *s, const char *suffix)
{
    static char path[2 * PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/server-0%s", s->folder, suffix);
    return path;
}

static void close_servers(struct servers *s)
{
    for (int i = 0; i < N_SERVERS; i++)
        ps_server_close(&s->server[i]);
    placement_close(&s->rank.placement);
    buckets_close(&s->rank.buckets);
    compute_close(&s->rank.compute);
    (void)unlink(path_of(s, ""));
    (void)unlink(path_of(s, ".clocks"));
    for (int i = 0; i < 2; i++) {
        char path[2 * PATH_BYTES];
        (void)snprintf(path, sizeof path, "%s/server-1%s", s->folder, i == 0 ? "" : ".clocks");
        (void)unlink(path);
    }
    assert_int_equal(rmdir(s->folder), 0);
}

static size_t read_file(const char *path, unsigned char bytes[MOST_BYTES])
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    const size_t n = fread(bytes, 1, MOST_BYTES, file);
    assert_int_equal(fclose(file), 0);
    assert_true(n > 0 && n < MOST_BYTES);
    return n;
}

static void write_file(const char *path, const unsigned char *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

static struct ps_server *heir(struct servers *s)
{
    assert_int_equal(s->server[1]->n_here, 2);
    return s->server[1]->here[1];
}

static void expect_refused(struct servers *s, const char *what, size_t i)
{
    const enum rc rc = snapshot_restore(heir(s));

    if (rc != RC_INVAL && rc != RC_IO)
        fail_msg("%s, byte %zu: %s", what, i, rc == RC_OK ? "is taken" : rc_message());
    assert_false(heir(s)->is_restored);
}

/* N1, of the snapshot: whatever byte is another one, or where it ends. */
static void what_is_damaged_is_not_used(void **state)
{
    unsigned char was[MOST_BYTES], is[MOST_BYTES];
    struct servers s;

    (void)state;
    open_servers(&s, CONSISTENCY_SYNC, 0.5);
    const size_t n = read_file(path_of(&s, ""), was);
    for (size_t i = 0; i < n; i++) {
        memcpy(is, was, n);
        is[i] ^= (unsigned char)(1u << i % 8);
        write_file(path_of(&s, ""), is, n);
        expect_refused(&s, "changed", i);
        write_file(path_of(&s, ""), was, i);
        expect_refused(&s, "cut off", i);
    }
    was[n] = 0;
    write_file(path_of(&s, ""), was, n + 1);
    expect_refused(&s, "longer", n);
    write_file(path_of(&s, ""), was, n);
    assert_int_equal(snapshot_restore(heir(&s)), RC_OK);
    assert_true(heir(&s)->is_restored);
    for (size_t i = 0; i < heir(&s)->n_elems; i++) /* the first half of each piece is not the other server's */
        assert_true(heir(&s)->param[i] == s.server[0]->param[i]);
    close_servers(&s);
}

/* N6: clocks are cut off, or missing, or of another run. */
static void clocks_that_do_not_fit_are_not_used(void **state)
{
    unsigned char was[MOST_BYTES];
    struct servers s;

    (void)state;
    open_servers(&s, CONSISTENCY_SSP, 0);
    const size_t n = read_file(path_of(&s, ".clocks"), was);
    assert_int_equal(n, 8 + N_PIECES * (1 + N_WORKERS) * 8);
    for (size_t i = 0; i < n; i++) {
        write_file(path_of(&s, ".clocks"), was, i);
        expect_refused(&s, "clocks cut off", i);
    }
    was[3] ^= 1; /* of the layout */
    write_file(path_of(&s, ".clocks"), was, n);
    expect_refused(&s, "clocks of another run", 3);
    was[3] ^= 1;
    assert_int_equal(unlink(path_of(&s, ".clocks")), 0);
    expect_refused(&s, "no clocks", 0);
    write_file(path_of(&s, ".clocks"), was, n);
    assert_int_equal(snapshot_restore(heir(&s)), RC_OK);
    close_servers(&s);
}

/* What a server has noted since its snapshot is what is rolled back: pushes with ssp, rounds with sync. */
static void clocks_are_those_that_were_noted(void **state)
{
    static const enum consistency_kind kind[] = { CONSISTENCY_SSP, CONSISTENCY_SYNC };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct servers s;
        open_servers(&s, kind[i], 0);
        struct clocks *c = &s.server[0]->piece[1].clocks;
        for (int step = 0; step < 3; step++) {
            for (int w = 0; w < N_WORKERS; w++)
                (void)clocks_push(c, w);
            if (kind[i] == CONSISTENCY_SYNC)
                clocks_end_round(c);
        }
        assert_int_equal(snapshot_note(s.server[0], 1), RC_OK);
        assert_int_equal(snapshot_restore(heir(&s)), RC_OK);
        const struct piece_state *p = heir(&s)->piece;
        assert_int_equal(p[0].clock, 0);
        assert_int_equal(p[0].n_rolled_back, 0);
        const uint64_t n_lost = kind[i] == CONSISTENCY_SSP ? 3 * N_WORKERS : 3;
        assert_int_equal(p[1].clock, n_lost);
        assert_int_equal(p[1].n_rolled_back, n_lost);
        assert_int_equal(heir(&s)->facts.rolled_back_count, n_lost);
        assert_int_equal(p[1].n_rounds_restored, kind[i] == CONSISTENCY_SYNC ? 3 : 0);
        for (int w = 0; w < N_WORKERS; w++)
            assert_int_equal(p[1].clocks.clock[w], 3);
        close_servers(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_damaged_is_not_used),
                                        cmocka_unit_test(clocks_that_do_not_fit_are_not_used),
                                        cmocka_unit_test(clocks_are_those_that_were_noted) };

    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
