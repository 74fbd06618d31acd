/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_test.c - what a server reads of the one whose place it takes: nothing of a file that is not as it was
 * written, or of another run; the clocks that were noted behind it; and the batches of an elastic run (snapshot.h).
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
#include <sodium.h>

#include "harness/base/bytes.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/copy_words.h"
#include "ps/ps.h"
#include "ps/server.h"
#include "ps/server_state.h"
#include "ps/snapshot.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 3, N_SERVERS = 2, N_PARAMS = 20, N_PIECES = 2, MOST_BYTES = 8192, PATH_BYTES = 64 };

struct servers { /* of one process, which never run: 0 writes, 1 is its heir */
    struct world world[N_SERVERS];
    struct transport transport;
    struct ps_rank rank;
    struct ps_server *server[N_SERVERS];
    char folder[PATH_BYTES];
};

static void open_run(struct servers *s, enum consistency_kind kind, double momentum, uint64_t n_batches)
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
                                      .n_batches = n_batches,
                                      .slice_param = param + i * N_PARAMS / N_SERVERS,
                                      .snapshots = s->folder,
                                      .snapshot_every = 5 };
        if (ps_server_open(&s->server[i], &env) != RC_OK)
            fail_msg("%s", rc_message());
    }
}

static void open_servers(struct servers *s, enum consistency_kind kind, double momentum)
{
    open_run(s, kind, momentum, 0);
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

/* The checksum at the end is of what is before it. */
static void seal(unsigned char *bytes, size_t n_bytes)
{
    const size_t n = n_bytes - crypto_hash_sha256_BYTES;

    crypto_hash_sha256(bytes + n, bytes, n);
}

/* The same file, but these 8 bytes, with a checksum that is right. */
static void expect_refused_with(struct servers *s, const unsigned char *was, size_t n, size_t at, uint64_t word)
{
    unsigned char is[MOST_BYTES];

    memcpy(is, was, n);
    bytes_put(is + at, word, 8);
    seal(is, n);
    write_file(path_of(s, ""), is, n);
    expect_refused(s, "another word", at);
    assert_non_null(strstr(rc_message(), path_of(s, "")));
}

/* Some batches are done, one is out, one ahead, and one was undone. */
static void do_batches(struct ps_server *s)
{
    const uint64_t done[] = { 0, 3, 4 };

    for (int w = 0; w < N_WORKERS; w++)
        s->client[w].has_begun = true;
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
        leases_end(&s->leases, 0);
        (void)leases_take(&s->leases, 0);
        for (size_t k = 0; k < N_PIECES; k++)
            assert_true(batch_set_add(&s->has[k], done[i]));
    }
    assert_int_equal(leases_ahead(&s->leases, 0), 6);
    assert_true(leases_undo(&s->leases, 3));
}

/* N7: batches and the book are those of the moment, and a file that is damaged is not used, cut off or longer neither.
 */
static void batches_are_in_the_file_N7(void **state)
{
    unsigned char was[MOST_BYTES], is[MOST_BYTES];
    struct servers s;

    (void)state;
    open_run(&s, CONSISTENCY_ASYNC, 0.5, 30);
    struct ps_server *from = s.server[0], *to = heir(&s);
    do_batches(from);
    assert_int_equal(snapshot_write(from), RC_OK);
    assert_true(from->is_saved);
    const size_t n = read_file(path_of(&s, ""), was);
    for (size_t i = 0; i < n; i += 5) {
        memcpy(is, was, n);
        is[i] ^= (unsigned char)(1u << i % 8);
        write_file(path_of(&s, ""), is, n);
        expect_refused(&s, "changed", i);
        write_file(path_of(&s, ""), was, i);
        expect_refused(&s, "cut off", i);
    }
    write_file(path_of(&s, ""), was, n);
    assert_int_equal(snapshot_restore(to), RC_OK);
    assert_int_equal(to->leases.n_begun, 7);
    assert_int_equal(to->leases.n_done, 2);
    assert_int_equal(to->leases.of[0], 5);
    assert_int_equal(to->leases.of[2], 2);
    assert_int_equal(to->leases.ahead[0], 6);
    assert_int_equal(to->leases.undone.n_in, 1);
    assert_true(batch_set_has(&to->leases.undone, 3));
    assert_true(to->client[1].has_begun && !to->client[1].has_reported);
    for (size_t k = 0; k < N_PIECES; k++) {
        if (to->piece[k].part.n_elems == 0)
            continue;
        assert_int_equal(to->has[k].n_in, 3);
        assert_true(batch_set_has(&to->has[k], 4) && !batch_set_has(&to->has[k], 5));
    }
    close_servers(&s);
}

/* N7: a checksum that is right makes no run of words that no run has: not one of all words may lead outside of what is
 * there, which a sanitizer sees. */
static void words_that_no_run_has_are_refused_N7(void **state)
{
    enum { AT_LAYOUT = 8, AT_N_BATCHES = 16, AT_N_MOMENTS = 32, AT_WORDS = 40 };
    unsigned char was[MOST_BYTES], is[MOST_BYTES];
    struct servers s;
    size_t n_refused = 0, n_tried = 0;

    (void)state;
    open_run(&s, CONSISTENCY_ASYNC, 0.5, 30);
    struct ps_server *to = heir(&s);
    do_batches(s.server[0]);
    assert_int_equal(snapshot_write(s.server[0]), RC_OK);
    const size_t n = read_file(path_of(&s, ""), was);
    expect_refused_with(&s, was, n, 0, UINT64_C(0x3230303053534d47)); /* "GMSS0002" */
    assert_non_null(strstr(rc_message(), "in another version of the format"));
    expect_refused_with(&s, was, n, 0, 7);
    expect_refused_with(&s, was, n, AT_LAYOUT, 1);
    expect_refused_with(&s, was, n, AT_N_BATCHES, 0);
    expect_refused_with(&s, was, n, AT_N_BATCHES, 31);
    expect_refused_with(&s, was, n, AT_N_MOMENTS, 2);
    for (size_t at = AT_WORDS; at < AT_WORDS + copy_words_bytes(to); at += 8, n_tried++) {
        memcpy(is, was, n);
        bytes_put(is + at, UINT64_MAX - at, 8);
        seal(is, n);
        write_file(path_of(&s, ""), is, n);
        const enum rc rc = snapshot_restore(to);
        assert_true(rc == RC_OK || rc == RC_INVAL); /* it may be a count, which any number is */
        n_refused += rc == RC_INVAL;
        to->is_restored = false;
    }
    assert_true(n_refused > n_tried / 4 && n_refused < n_tried);
    write_file(path_of(&s, ""), was, n);
    assert_int_equal(snapshot_restore(to), RC_OK);
    close_servers(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_damaged_is_not_used),
                                        cmocka_unit_test(clocks_that_do_not_fit_are_not_used),
                                        cmocka_unit_test(clocks_are_those_that_were_noted),
                                        cmocka_unit_test(batches_are_in_the_file_N7),
                                        cmocka_unit_test(words_that_no_run_has_are_refused_N7) };

    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
