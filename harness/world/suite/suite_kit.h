/* SPDX-License-Identifier: Apache-2.0 */
/* suite_kit.h - what the suites of worlds and of tasks share: counted expectations. Test-only. */
#ifndef HARNESS_WORLD_SUITE_SUITE_KIT_H
#define HARNESS_WORLD_SUITE_SUITE_KIT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/world/world.h"

struct suite {
    struct world *w;
    const char *name; /* of the case */
    int n_failures;
};

/* Count a failed expectation, and print it with the rank and the last error. Returns ok. */
static inline bool suite_expect(struct suite *s, bool ok, const char *what, int line)
{
    if (!ok) {
        s->n_failures++;
        fprintf(stderr, "world %s: %s, rank %d of %d: failed: %s (line %d; last error: %s)\n", s->w->ops->module.name,
                s->name, s->w->rank, s->w->n_ranks, what, line, rc_message());
    }
    return ok;
}
#define EXPECT(s, ok) suite_expect((s), (ok), #ok, __LINE__)
#define EXPECT_OK(s, call) suite_expect((s), (call) == RC_OK, #call, __LINE__)

/* Collective; a rank that has seen no failure counts one for those of others. */
static inline bool suite_failed_anywhere(struct suite *s)
{
    int *all = calloc((size_t)s->w->n_ranks, sizeof *all), n_all = 0;

    if (EXPECT(s, all != NULL) && EXPECT_OK(s, world_allgather(s->w, &s->n_failures, all, sizeof *all)))
        for (int r = 0; r < s->w->n_ranks; r++)
            n_all += all[r] != 0;
    free(all);
    if (n_all > 0 && s->n_failures == 0)
        s->n_failures = 1;
    return s->n_failures > 0;
}

/* Expectations of a rank of w in a function that counts its own failures, as int n_failures. */
#define EXPECT_OF(w_, ok) n_failures += suite_unless((w_), (ok), #ok, __LINE__)
static inline int suite_unless(const struct world *w, bool ok, const char *what, int line)
{
    if (!ok)
        fprintf(stderr, "world %s: rank %d of %d: failed: %s (line %d; last error: %s)\n", w->ops->module.name, w->rank,
                w->n_ranks, what, line, rc_message());
    return !ok;
}

#endif
