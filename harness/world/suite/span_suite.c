/* SPDX-License-Identifier: Apache-2.0 */
/* span_suite.c - rings filled to every level, and overlaps of lists with known answers. */
#include "harness/world/suite/span_suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/suite/test_allocations.h"

#define N_ELEMS(a) (sizeof(a) / sizeof *(a))
enum { N_RANDOM = 4000, N_MAX = 12, AXIS_NS = 40 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { N_TOO_MANY = 2 }; /* sanitizers end a program that asks malloc() for too much */
#else
enum { N_TOO_MANY = 3 };
#endif

const struct span_impl span_impl_real = { span_ring_open, span_ring_add,  span_ring_n_added, span_ring_n_lost,
                                          span_ring_get,  span_ring_name, span_ring_close,   spans_overlap_ns };

static int expect(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "  does not hold: %s\n", what);
    return holds ? 0 : 1;
}

/* Span i of every ring here: no two members are equal, none is 0. */
static struct span span_of(uint64_t i)
{
    static const char *const what[] = { "forward", "backward", "reduce" };

    return (struct span){ .start_ns = 1000 + 10 * i,
                          .end_ns = 1007 + 10 * i,
                          .what = what[i % 3],
                          .segment = (int32_t)(i % 5) - 1,
                          .n_bytes = (UINT64_C(1) << 40) + i,
                          .step = (uint32_t)(77 + i) };
}

static bool same(const struct span *a, const struct span *b)
{
    return a && a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->what == b->what &&
           a->segment == b->segment && a->n_bytes == b->n_bytes && a->step == b->step;
}

/* What a ring of n_spans holds after n_added spans, its oldest ones overwritten. */
static int check_level(const struct span_impl *impl, const struct span_ring *ring, size_t n_spans, uint64_t n_added)
{
    const uint64_t n_lost = n_added > n_spans ? n_added - n_spans : 0;
    int n_failures = expect(impl->n_added(ring) == n_added, "S1 spans added are counted");

    n_failures += expect(impl->n_lost(ring) == n_lost, "S1 spans lost are counted");
    for (uint64_t i = 0; i < n_added + 2; i++) {
        const struct span *s = impl->get(ring, i), wanted = span_of(i);

        if (i < n_lost || i >= n_added)
            n_failures += expect(!s, "S1 what was overwritten, or not added, is not there");
        else
            n_failures += expect(same(s, &wanted), "S1 span i is the i-th that was added");
    }
    return n_failures;
}

static int check_rings(const struct span_impl *impl)
{
    static const size_t n_spans[] = { 1, 2, 3, 7, 8 };
    int n_failures = 0;

    for (size_t k = 0; k < N_ELEMS(n_spans); k++) {
        struct span_ring *ring = NULL;

        if (impl->open(&ring, "main", n_spans[k]) != RC_OK)
            return n_failures + 1;
        n_failures += expect(strcmp(impl->name(ring), "main") == 0, "a ring has its task's name");
        for (uint64_t n_added = 0; n_added <= 3 * n_spans[k] + 1; n_added++) {
            struct span s = span_of(n_added);

            n_failures += check_level(impl, ring, n_spans[k], n_added);
            impl->add(ring, &s);
            memset(&s, 0, sizeof s); /* the ring has a copy */
        }
        impl->close(&ring);
        n_failures += expect(!ring, "close nulls");
        impl->close(&ring);
    }
    return n_failures;
}

static int check_no_ring(const struct span_impl *impl) /* world.S4 */
{
    const struct span s = span_of(0);

    impl->add(NULL, &s);
    return expect(impl->n_added(NULL) == 0 && impl->n_lost(NULL) == 0, "S4 without a ring there are no spans") +
           expect(!impl->get(NULL, 0), "S4 and none can be read");
}

/* Pages of bytes [from, to) that are not in memory. */
static size_t n_pages_absent(const void *from, const void *to)
{
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    size_t n_absent = 0;

    for (uintptr_t page = (uintptr_t)from / page_bytes * page_bytes; page < (uintptr_t)to; page += page_bytes) {
        unsigned char is_there = 0;

        n_absent += mincore((void *)page, page_bytes, &is_there) != 0 || !(is_there & 1);
    }
    return n_absent;
}

static int check_memory(const struct span_impl *impl) /* world.S2 */
{
    enum { N_SPANS = 1 << 18 };
    struct span_ring *ring = NULL;
    const struct span first = span_of(0);
    int n_failures = 0;

    if (impl->open(&ring, "main", N_SPANS) != RC_OK)
        return 1;
    impl->add(ring, &first);
    const struct span *base = impl->get(ring, 0); /* the others lie behind it */
    n_failures += expect(base && n_pages_absent(base, base + N_SPANS) == 0, "S2 open touches all memory");
    const size_t n_allocations = test_allocations();
    for (uint64_t i = 1; i < 2 * N_SPANS; i++) {
        const struct span s = span_of(i);

        impl->add(ring, &s);
    }
    n_failures += expect(test_allocations() == n_allocations, "S2 adding allocates nothing");
    n_failures += expect(impl->n_lost(ring) == N_SPANS, "S1 a large ring, filled twice");
    impl->close(&ring);
    for (int k = 0; k < N_TOO_MANY; k++) { /* two are no size_t in bytes, the last has no memory */
        static const size_t too_many[] = { SIZE_MAX, SIZE_MAX / sizeof(struct span), SIZE_MAX / 64 };

        ring = (struct span_ring *)&ring;
        n_failures += expect(impl->open(&ring, "communicator", too_many[k]) == RC_NOMEM && !ring, "RC_NOMEM");
        n_failures += expect(strstr(rc_message(), "communicator") != NULL, "the message names the task");
    }
    return n_failures;
}

static struct span from_to(uint64_t start_ns, uint64_t end_ns)
{
    return (struct span){ .start_ns = start_ns, .end_ns = end_ns, .what = "x", .segment = -1 };
}

static int check_overlap_values(const struct span_impl *impl)
{
    static const struct {
        const char *what;
        uint64_t a[4][2], b[4][2]; /* ended by 0 to 0 */
        uint64_t overlap_ns;
    } cases[] = {
        { "equal", { { 10, 20 } }, { { 10, 20 } }, 10 },
        { "in part", { { 10, 20 } }, { { 15, 30 } }, 5 },
        { "apart", { { 10, 20 } }, { { 21, 30 } }, 0 },
        { "touching", { { 10, 20 } }, { { 20, 30 } }, 0 },
        { "nested", { { 10, 50 } }, { { 20, 23 } }, 3 },
        { "nested, same start", { { 10, 50 } }, { { 10, 23 } }, 13 },
        { "nested, same end", { { 10, 50 } }, { { 23, 50 } }, 27 },
        { "no length, inside", { { 10, 50 } }, { { 20, 20 } }, 0 },
        { "no length, at the ends", { { 10, 50 } }, { { 10, 10 }, { 50, 50 } }, 0 },
        { "no length, equal", { { 10, 10 } }, { { 10, 10 } }, 0 },
        { "no length between lengths", { { 10, 20 }, { 20, 20 }, { 20, 30 } }, { { 15, 25 } }, 10 },
        { "no length in both", { { 5, 5 }, { 5, 9 } }, { { 5, 5 }, { 5, 5 }, { 6, 9 } }, 3 },
        { "one over many", { { 10, 100 } }, { { 5, 12 }, { 20, 25 }, { 90, 91 }, { 99, 200 } }, 2 + 5 + 1 + 1 },
        { "many, touching", { { 0, 10 }, { 10, 20 }, { 20, 30 } }, { { 5, 15 }, { 15, 25 }, { 25, 26 } }, 21 },
        { "a gap in each", { { 0, 10 }, { 30, 40 } }, { { 5, 15 }, { 20, 25 }, { 26, 27 }, { 35, 45 } }, 5 + 5 },
        { "beyond 32 bits", { { 1, UINT64_C(1) << 40 } }, { { 2, (UINT64_C(1) << 40) + 5 } }, (UINT64_C(1) << 40) - 2 },
        { "beyond 53 bits",
          { { (UINT64_C(1) << 60) + 1, (UINT64_C(1) << 61) + 1 } },
          { { 3, (UINT64_C(1) << 61) } },
          (UINT64_C(1) << 60) - 1 },
        { "to the end of the clock", { { 7, UINT64_MAX } }, { { 8, UINT64_MAX } }, UINT64_MAX - 8 },
    };
    int n_failures = 0;

    for (size_t k = 0; k < N_ELEMS(cases); k++) {
        struct span a[4], b[4];
        size_t n_a = 0, n_b = 0;

        for (; n_a < 4 && cases[k].a[n_a][1] > 0; n_a++)
            a[n_a] = from_to(cases[k].a[n_a][0], cases[k].a[n_a][1]);
        for (; n_b < 4 && cases[k].b[n_b][1] > 0; n_b++)
            b[n_b] = from_to(cases[k].b[n_b][0], cases[k].b[n_b][1]);
        n_failures += expect(impl->overlap_ns(a, n_a, b, n_b) == cases[k].overlap_ns, cases[k].what);
        n_failures += expect(impl->overlap_ns(b, n_b, a, n_a) == cases[k].overlap_ns, "the other way round");
        n_failures += expect(impl->overlap_ns(a, n_a, b, 0) == 0 && impl->overlap_ns(NULL, 0, b, n_b) == 0, "no spans");
    }
    return n_failures;
}

/* A random list in order and disjoint, about half of it touching or of no length; covered[t]: it holds [t, t + 1). */
static size_t draw_list(struct span out[N_MAX], bool covered[AXIS_NS], uint64_t *i)
{
    const size_t n = rng_u64(5, RNG_TEST, (*i)++) % (N_MAX + 1);
    uint64_t at_ns = 0;
    size_t n_out = 0;

    memset(covered, 0, AXIS_NS * sizeof *covered);
    for (; n_out < n; n_out++) {
        const uint64_t gap_ns = rng_u64(5, RNG_TEST, (*i)++) % 6, length_ns = rng_u64(5, RNG_TEST, (*i)++) % 6;
        const uint64_t start_ns = at_ns + (gap_ns > 2 ? gap_ns - 2 : 0), end_ns = start_ns + length_ns;

        if (end_ns >= AXIS_NS)
            break;
        for (uint64_t t = start_ns; t < end_ns; t++)
            covered[t] = true;
        out[n_out] = from_to(start_ns, end_ns);
        at_ns = end_ns;
    }
    return n_out;
}

static int check_overlap_random(const struct span_impl *impl) /* against counting every nanosecond */
{
    bool in_a[AXIS_NS], in_b[AXIS_NS];
    struct span a[N_MAX], b[N_MAX];
    uint64_t i = 0, sum_ns = 0;
    int n_wrong = 0;

    for (int trial = 0; trial < N_RANDOM; trial++) {
        const size_t n_a = draw_list(a, in_a, &i), n_b = draw_list(b, in_b, &i);
        uint64_t wanted_ns = 0;

        for (int t = 0; t < AXIS_NS; t++)
            wanted_ns += in_a[t] && in_b[t];
        n_wrong += impl->overlap_ns(a, n_a, b, n_b) != wanted_ns;
        sum_ns += wanted_ns;
    }
    return expect(n_wrong == 0, "random lists overlap as counting says") +
           expect(sum_ns > 2 * N_RANDOM, "random lists do overlap");
}

int span_suite(const struct span_impl *impl, const char *group)
{
    static const struct {
        const char *name;
        int (*check)(const struct span_impl *impl);
    } groups[] = {
        { "rings", check_rings },
        { "no-ring", check_no_ring },
        { "memory", check_memory },
        { "overlap", check_overlap_values },
        { "overlap-random", check_overlap_random },
    };
    int n_failures = 0;
    bool known = false;

    for (size_t i = 0; i < N_ELEMS(groups); i++)
        if (!group || strcmp(group, groups[i].name) == 0) {
            n_failures += groups[i].check(impl);
            known = true;
        }
    return known ? n_failures : -1;
}
