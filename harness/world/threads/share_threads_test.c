/* SPDX-License-Identifier: Apache-2.0 */
/* share_threads_test.c - share_suite in threads, its mutants, kinds of pages, and shares of ranks that fail: world.H6,
 * H7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/host_memory.h"
#include "harness/world/share.h"
#include "harness/world/share_block.h"
#include "harness/world/suite/share_mutants.h"
#include "harness/world/suite/share_suite.h"

extern const struct world_ops world_threads;

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* these take more addresses than any limit */
#define HAS_TIGHT_LIMITS
#endif
#define LONG_NS UINT64_C(20000000000)
#define MUTANT_NS UINT64_C(100000000) /* of a wait that a bug keeps from ending */

static const struct world_opts plain = { .bind_cores = false };

static enum rc suite_body(struct world *w, void *arg)
{
    struct world *part = NULL;
    enum rc rc;

    atomic_fetch_add((atomic_int *)arg, share_suite(w, LONG_NS, NULL));
    TRY(world_split(w, w->rank % 2, -w->rank, &part)); /* a part has hosts, too */
    atomic_fetch_add((atomic_int *)arg, share_suite(part, LONG_NS, NULL));
out:
    world_split_close(&part);
    return rc;
}

static void suite_passes(void **state)
{
    (void)state;
    for (int n_ranks = 1; n_ranks <= 3; n_ranks++) {
        atomic_int n_failures = 0;
        assert_int_equal(world_run(&world_threads, &plain, n_ranks, suite_body, &n_failures), RC_OK);
        assert_int_equal(atomic_load(&n_failures), 0);
    }
}

struct trial {
    const struct share_mutant *mutant;
    int n_failures; /* on rank 0 */
    const char *failed_case;
};

static enum rc mutant_body(struct world *w, void *arg)
{
    struct trial *trial = arg;
    const struct world_ops *real = w->ops;
    struct world_ops ops = *real;
    const char *failed_case = NULL;

    ops.shares = trial->mutant->ops;
    w->ops = &ops;
    const int n_failures = share_suite(w, trial->mutant->failed_case ? MUTANT_NS : LONG_NS, &failed_case);
    w->ops = real;
    if (w->rank == 0) {
        trial->n_failures = n_failures;
        trial->failed_case = failed_case;
    }
    return RC_OK;
}

static bool is_caught(const struct trial *t)
{
    return t->n_failures > 0 && strcmp(t->failed_case, t->mutant->failed_case) == 0;
}

/* What mistakes times may be hidden once, or found by an earlier case, on a machine that lets a thread wait for long.
 */
static void suite_catches_mutants(void **state)
{
    enum { MAX_TRIALS = 5 };

    (void)state;
    for (const struct share_mutant *m = share_mutants(); m->name; m++) {
        struct trial trial = { .mutant = m };
        print_message("mutant %s\n", m->name);
        for (int i = 0; i < (m->failed_case ? MAX_TRIALS : 1) && !(m->failed_case && is_caught(&trial)); i++) {
            trial = (struct trial){ .mutant = m };
            assert_int_equal(world_run(&world_threads, &plain, 3, mutant_body, &trial), RC_OK);
        }
        assert_int_equal(trial.n_failures > 0, m->failed_case != NULL);
        if (m->failed_case)
            assert_string_equal(trial.failed_case, m->failed_case);
    }
}

struct drill {
    enum { RETURNS, ABORTS, DIES } end; /* of rank 1 */
    enum { IN_WAIT, IN_OPEN } where;    /* where the others wait then */
    atomic_int n_told, n_read;
    void *block[3];
};

/* Rank 1 ends; the waits of the others end, and they still have its block. */
static enum rc drill_body(struct world *w, void *arg)
{
    struct drill *drill = arg;
    struct share *share = NULL, *next = NULL;
    enum rc rc;

    TRY(world_share_open(w, 3 * HUGE_PAGE_BYTES, &share));
    memset(share->mine, 10 + w->rank, share->n_bytes);
    drill->block[w->rank] = share->mine;
    TRY(world_barrier(w));
    if (w->rank == 1) {
        if (drill->end == DIES)
            world_die(w); /* with the share open */
        rc = rc_raise(RC_IO, "the disk is full");
        if (drill->end == ABORTS)
            world_abort(w, rc);
        goto out;
    }
    rc = drill->where == IN_OPEN ? world_share_open(w, 8, &next) : share_wait(share, share_seen(share), LONG_NS);
    if (rc == RC_PEER && !next && strstr(rc_message(), "rank 1 failed: "))
        atomic_fetch_add(&drill->n_told, 1);
    const unsigned char *block = share->peer[1];
    atomic_fetch_add(&drill->n_read, block[0] == 11 && block[share->n_bytes - 1] == 11);
out:
    world_share_close(&share);
    return rc;
}

static void a_failure_ends_waits_and_takes_no_memory(void **state)
{
    (void)state;
    for (int end = RETURNS; end <= DIES; end++)
        for (int where = IN_WAIT; where <= IN_OPEN; where++) {
            struct drill drill = { .end = end, .where = where };
            assert_int_equal(world_run(&world_threads, &plain, 3, drill_body, &drill), end == DIES ? RC_PEER : RC_IO);
            assert_memory_equal(rc_message(), "rank 1: ", 8);
            assert_int_equal(atomic_load(&drill.n_told), 2);
            assert_int_equal(atomic_load(&drill.n_read), 2);
        }
}

/* world.H7: a run leaves nothing mapped, even where a rank died with a share open. */
static void a_run_leaves_nothing(void **state)
{
    struct drill drill = { .end = DIES };
    unsigned char resident[3 * HUGE_PAGE_BYTES / 4096];

    (void)state;
    (void)!world_run(&world_threads, &plain, 3, drill_body, &drill);
    for (int r = 0; r < 3; r++) {
        assert_non_null(drill.block[r]);
        assert_int_equal(mincore(drill.block[r], 3 * HUGE_PAGE_BYTES, resident), -1); /* not mapped */
        assert_int_equal(errno, ENOMEM);
    }
}

#ifdef HAS_TIGHT_LIMITS
static enum rc open_two_thirds(struct world *w, void *arg)
{
    struct share *share = NULL;
    const enum rc rc = world_share_open(w, *(size_t *)arg / 3 * 2, &share);

    world_share_close(&share);
    return rc;
}

/* Bytes of addresses that this process has. They grow by chance: malloc() makes room for threads that wait for each
 * other. */
static size_t address_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long n_pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &n_pages), 1);
    (void)fclose(file);
    return n_pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* world.H3: each block would fit, but not all. The limit leaves less than this machine has, so that what other
 * processes take or give back does not matter, and nothing much is taken where this is overlooked. */
static void there_must_be_room_for_all_blocks(void **state)
{
    enum { LEFT_BYTES = 1280 << 20 };
    struct rlimit old, tight;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    tight = (struct rlimit){ address_bytes() + LEFT_BYTES, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    size_t n_bytes = host_memory_available("");
    const enum rc rc = world_run(&world_threads, &plain, 2, open_two_thirds, &n_bytes);
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_in_range(n_bytes, 1, LEFT_BYTES);
    assert_int_equal(rc, RC_NOMEM);
    assert_non_null(strstr(rc_message(), " bytes available"));
}

#endif

/* Bytes that this process has in huge pages. */
static size_t huge_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    unsigned long n_kib = 0;
    char line[128];

    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "AnonHugePages: %lu", &n_kib) == 1)
            break;
    (void)fclose(file);
    return n_kib * 1024;
}

static enum rc pages_body(struct world *w, void *arg)
{
    struct share *small = NULL, *large = NULL;
    enum rc rc;

    (void)arg;
    TRY(world_share_open(w, 100000, &small));
    const size_t before_bytes = huge_bytes();
    TRY(world_share_open(w, 4 * HUGE_PAGE_BYTES, &large));
    const bool are_huge = huge_bytes() - before_bytes > 2 * HUGE_PAGE_BYTES;
    const bool is_right = pages_of(small->mine, small->n_bytes) == PAGES_SMALL && small->kind == SHARE_ADDRESS_SPACE &&
                          !small->reason &&
                          pages_of(large->mine, large->n_bytes) == (are_huge ? PAGES_TRANSPARENT : PAGES_SMALL);
    rc = is_right ? RC_OK : rc_raise(RC_MISMATCH, "pages: %s", pages_text(pages_of(large->mine, large->n_bytes)));
out:
    world_share_close(&large);
    world_share_close(&small);
    return rc;
}

/* Which pages there are, not which were asked for. */
static void pages_are_reported(void **state)
{
    (void)state;
    assert_int_equal(world_run(&world_threads, &plain, 1, pages_body, NULL), RC_OK);
    assert_string_equal(pages_text(PAGES_TRANSPARENT), "transparent huge");
    assert_string_equal(pages_text(PAGES_HUGETLB), "hugetlb");
    assert_string_equal(share_kind_text(SHARE_FILE), "file");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_passes),
        cmocka_unit_test(suite_catches_mutants),
        cmocka_unit_test(a_failure_ends_waits_and_takes_no_memory),
        cmocka_unit_test(a_run_leaves_nothing),
#ifdef HAS_TIGHT_LIMITS
        cmocka_unit_test(there_must_be_room_for_all_blocks),
#endif
        cmocka_unit_test(pages_are_reported),
    };

    if (argc > 1 && strcmp(argv[1], "mutants") == 0)
        cmocka_set_test_filter("suite_catches_mutants");
    else
        cmocka_set_skip_filter("suite_catches_mutants");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
