/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.c - finds nodes and links that sometimes lose messages, from the ratio of late round trips in a tournament;
 * see late.h.
 */
#include "harness/accept/late.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct late { /* of some pairs */
    long n_late, n_rounds;
    uint64_t repeats; /* bit r: one was late in repeat r */
};

struct counts {
    int n;             /* nodes */
    struct late *pair; /* [n][n], symmetrical */
    bool *is_out;      /* [n]: nodes that are blamed */
};

bool late_is_known(const struct tournament *t)
{
    return t->n_repeats > 0 && t->n_rounds > 0 && t->late_ratio != NULL;
}

static struct late late_of_pair(const struct tournament *t, int a, int b)
{
    struct late sum = { 0, 0, 0 };

    for (int r = 0; r < t->n_repeats; r++) {
        const double ratio = *tournament_late(t, r, a, b);
        if (isnan(ratio))
            continue;
        const long n_late = lround(ratio * t->n_rounds);
        sum.n_late += n_late;
        sum.n_rounds += t->n_rounds;
        sum.repeats |= (uint64_t)(n_late > 0) << r;
    }
    return sum;
}

double late_worst(const struct tournament *t, int *from, int *to)
{
    double worst = NAN;

    for (int a = 0; late_is_known(t) && a < t->n_nodes; a++)
        for (int b = a + 1; b < t->n_nodes; b++) {
            const struct late l = late_of_pair(t, a, b);
            const double ratio = l.n_rounds > 0 ? (double)l.n_late / (double)l.n_rounds : NAN;
            if (isnan(ratio) || ratio <= worst)
                continue;
            worst = ratio;
            *from = a;
            *to = b;
        }
    return worst;
}

static double log_choose(long n, long k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double late_chance(long k, long n, long of_k, long of_n)
{
    const long most = n < of_k ? n : of_k, least = n + of_k - of_n > 0 ? n + of_k - of_n : 0;
    double p = 0;

    for (long i = k > least ? k : least; i <= most; i++)
        p += exp(log_choose(of_k, i) + log_choose(of_n - of_k, n - i) - log_choose(of_n, n));
    return p < 1 ? p : 1;
}

static void add(struct late *sum, const struct late *l)
{
    sum->n_late += l->n_late;
    sum->n_rounds += l->n_rounds;
    sum->repeats |= l->repeats;
}

/* What is left of sum without part; its repeats are not told apart. */
static struct late without(const struct late *sum, const struct late *part)
{
    return (struct late){ sum->n_late - part->n_late, sum->n_rounds - part->n_rounds, sum->repeats };
}

static const struct late *pair_of(const struct counts *c, int a, int b)
{
    return &c->pair[(size_t)a * (size_t)c->n + (size_t)b];
}

/* Of all pairs of nodes that are not blamed. */
static struct late total_of(const struct counts *c)
{
    struct late sum = { 0, 0, 0 };

    for (int a = 0; a < c->n; a++)
        for (int b = a + 1; b < c->n; b++)
            if (!c->is_out[a] && !c->is_out[b])
                add(&sum, pair_of(c, a, b));
    return sum;
}

/* accept.L1: of the node's pairs but the worst, and of those that do not meet it. */
static void node_parts(const struct counts *c, int node, const struct late *total, struct late *own,
                       struct late *others)
{
    struct late all = { 0, 0, 0 };
    int worst = -1;

    *own = all;
    for (int peer = 0; peer < c->n; peer++)
        if (peer != node && !c->is_out[peer]) {
            add(&all, pair_of(c, node, peer));
            if (worst < 0 || pair_of(c, node, peer)->n_late > pair_of(c, node, worst)->n_late)
                worst = peer;
        }
    for (int peer = 0; peer < c->n; peer++)
        if (peer != node && peer != worst && !c->is_out[peer])
            add(own, pair_of(c, node, peer));
    *others = without(total, &all);
}

/* The probability that own are late so often by chance; 1 where accept.L2 forbids blame. */
static double chance_of(const struct late *own, const struct late *others)
{
    if (own->n_late < LEAST_LATE || (own->repeats & (own->repeats - 1)) == 0 || others->n_rounds == 0)
        return 1;
    const double ratio = (double)own->n_late / (double)own->n_rounds;
    if (ratio < LEAST_LATE_RATIO + (double)others->n_late / (double)others->n_rounds)
        return 1;
    return late_chance(own->n_late, own->n_rounds, own->n_late + others->n_late, own->n_rounds + others->n_rounds);
}

static enum rc blame(struct acceptance *a, struct finding f, double p, const struct late *own,
                     const struct late *others)
{
    f.stage = ACCEPT_PAIRWISE;
    f.metric = "late_ratio";
    f.unit = "of round trips";
    f.measured = (double)own->n_late / (double)own->n_rounds;
    f.expected = (double)others->n_late / (double)others->n_rounds;
    f.q_value = p;
    snprintf(f.text, sizeof f.text,
             "loses messages: %ld of %ld round trips took %g s or longer, as after a retransmission; of the others %ld "
             "of %ld",
             own->n_late, own->n_rounds, LATE_S, others->n_late, others->n_rounds);
    return acceptance_add_finding(a, &f);
}

/* The most certain node, until there is none. level: for one test. n_tests: of all. */
static enum rc blame_nodes(struct acceptance *a, struct counts *c, double n_tests, double level)
{
    enum rc rc = RC_OK;

    for (;;) {
        const struct late total = total_of(c);
        struct late own, others;
        double least = 1;
        int node = -1;
        for (int i = 0; i < c->n; i++) {
            if (c->is_out[i])
                continue;
            node_parts(c, i, &total, &own, &others);
            const double p = chance_of(&own, &others);
            if (p < least) {
                least = p;
                node = i;
            }
        }
        if (node < 0 || least * n_tests > level)
            break;
        node_parts(c, node, &total, &own, &others);
        TRY(blame(a, (struct finding){ .subject = SUBJECT_NODE, .a = node }, least * n_tests, &own, &others));
        c->is_out[node] = true;
    }
out:
    return rc;
}

static enum rc blame_links(struct acceptance *a, const struct counts *c, double n_tests, double level)
{
    const struct late total = total_of(c);
    enum rc rc = RC_OK;

    for (int from = 0; from < c->n; from++)
        for (int to = from + 1; to < c->n; to++) {
            const struct late own = *pair_of(c, from, to), others = without(&total, &own);
            if (c->is_out[from] || c->is_out[to] || own.n_late < LEAST_LATE)
                continue;
            const double p = chance_of(&own, &others) * n_tests;
            if (p <= level)
                TRY(blame(a, (struct finding){ .subject = SUBJECT_LINK, .a = from, .b = to, .both_ways = true }, p,
                          &own, &others));
        }
out:
    return rc;
}

enum rc late_find(struct acceptance *a, const struct blame_terms *terms)
{
    const struct tournament *t = &a->tournament;
    const size_t n = (size_t)a->n_nodes;
    const double n_tests = (double)n * ((double)n + 1) / 2;
    struct counts c = { .n = a->n_nodes };
    enum rc rc = RC_OK;

    if (!late_is_known(t) || n < 3) /* accept.L3 */
        return RC_OK;
    c.pair = calloc(n * n, sizeof *c.pair);
    c.is_out = calloc(n, sizeof *c.is_out);
    if (!c.pair || !c.is_out)
        FAIL(RC_NOMEM, "no memory for the late round trips of %zu nodes", n);
    for (size_t i = 0; i < n * n; i++)
        c.pair[i] = late_of_pair(t, (int)(i / n), (int)(i % n));
    TRY(blame_nodes(a, &c, n_tests, terms->false_discovery_ratio));
    TRY(blame_links(a, &c, n_tests, terms->false_discovery_ratio));
out:
    free(c.pair);
    free(c.is_out);
    return rc;
}
