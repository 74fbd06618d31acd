/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - which training samples each worker has, unless all workers take all in turn (data.D1); see split.h. */
#include "data/split.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/rng.h"
#include "harness/base/text.h"

/* --- options --- */

static enum rc wrong(const char *text, const char *why)
{
    return rc_raise(RC_INVAL, "--split %.80s: %s", text, why);
}

static enum rc parse_shares(struct split_opts *out, const char *text, const char *list)
{
    const char *rest = list;
    double sum = 0;
    char word[32];

    while (text_next(&rest, word, sizeof word)) {
        if (out->n_shares == SPLIT_MOST_SHARES)
            return wrong(text, "has more than 64 shares; 64 at most");
        double *share = &out->share[out->n_shares++];
        if (!text_to_f64(word, share) || *share <= 0 || *share > 1e6)
            return wrong(text, "a share is a number above 0, at most 1e6, as in unequal:3,1");
        sum += *share;
    }
    if (out->n_shares < 2)
        return wrong(text, "needs a share for each worker, as in unequal:3,1");
    for (int i = 0; i < out->n_shares; i++)
        out->share[i] /= sum;
    return RC_OK;
}

enum rc split_parse(struct split_opts *out, const char *text)
{
    static const char dirichlet[] = "dirichlet:", unequal[] = "unequal:";

    *out = (struct split_opts){ .kind = SPLIT_IID };
    if (strcmp(text, "iid") == 0)
        return RC_OK;
    if (strcmp(text, "by-label") == 0) {
        out->kind = SPLIT_BY_LABEL;
        return RC_OK;
    }
    if (strncmp(text, dirichlet, sizeof dirichlet - 1) == 0) {
        out->kind = SPLIT_DIRICHLET;
        if (text_to_f64(text + sizeof dirichlet - 1, &out->concentration) && out->concentration >= 1e-3 &&
            out->concentration <= 1e6)
            return RC_OK;
        return wrong(text, "the concentration is a number from 0.001 to 1e6, as in dirichlet:0.5");
    }
    if (strncmp(text, unequal, sizeof unequal - 1) == 0) {
        out->kind = SPLIT_UNEQUAL;
        return parse_shares(out, text, text + sizeof unequal - 1);
    }
    return wrong(text, "is no split; use iid, by-label, dirichlet:A or unequal:a,b,...");
}

/* Where part i begins, of n things. */
static size_t part_begin(const struct split_opts *opts, int n_parts, int i, size_t n)
{
    double before = 0;

    if (opts->kind != SPLIT_UNEQUAL) {
        const size_t rest = n % (size_t)n_parts, k = (size_t)i;
        return k * (n / (size_t)n_parts) + (k < rest ? k : rest);
    }
    for (int k = 0; k < i; k++)
        before += opts->share[k];
    return i == n_parts ? n : (size_t)llround(before * (double)n);
}

size_t split_part_of(const struct split_opts *opts, int n_parts, int i, size_t n)
{
    assert(opts->kind != SPLIT_UNEQUAL || n_parts == opts->n_shares);
    return part_begin(opts, n_parts, i + 1, n) - part_begin(opts, n_parts, i, n);
}

/* --- order --- */

/* index := all training samples in an order drawn from seed. */
static void shuffle(size_t *index, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        index[i] = (size_t)rng_permute(rng_u64(seed, RNG_PART, 0), 0, i, n);
}

static uint32_t label_of(const struct dataset *d, size_t i)
{
    return d->ops->label(d, i);
}

/* Shuffled samples in the order of their labels: index, and where each label begins: begin[n_classes + 1]. */
static enum rc sort_by_label(size_t *index, size_t *begin, const struct dataset *d, uint64_t seed)
{
    size_t *shuffled = malloc(d->n_train * sizeof *shuffled), *next = calloc(d->n_classes, sizeof *next);
    enum rc rc = RC_OK;

    if (!shuffled || !next)
        FAIL(RC_NOMEM, "--split: no memory for the order of %zu samples", d->n_train);
    memset(begin, 0, (d->n_classes + 1) * sizeof *begin);
    shuffle(shuffled, d->n_train, seed);
    for (size_t i = 0; i < d->n_train; i++)
        begin[label_of(d, i) + 1]++;
    for (size_t c = 0; c < d->n_classes; c++)
        begin[c + 1] += begin[c];
    memcpy(next, begin, d->n_classes * sizeof *next);
    for (size_t i = 0; i < d->n_train; i++)
        index[next[label_of(d, shuffled[i])]++] = shuffled[i];
out:
    free(shuffled);
    free(next);
    return rc;
}

/* --- Dirichlet --- */

struct draws { /* numbers of a stream, one after the other */
    uint64_t seed, n;
};

static double draw_uniform(struct draws *d) /* in (0, 1) */
{
    return rng_uniform(d->seed, RNG_SPLIT, d->n++) + 0x1p-54;
}

static double draw_normal(struct draws *d)
{
    return rng_normal(d->seed, RNG_SPLIT_NORMAL, d->n++);
}

/* The logarithm of a gamma variate of shape a (Marsaglia, Tsang 2000): of small shapes the number itself is 0. */
static double draw_log_gamma(struct draws *d, double a)
{
    const double boost = a < 1 ? log(draw_uniform(d)) / a : 0, k = (a < 1 ? a + 1 : a) - 1.0 / 3;

    for (;;) {
        const double x = draw_normal(d), v = pow(1 + x / sqrt(9 * k), 3);
        if (v > 0 && log(draw_uniform(d)) < x * x / 2 + k - k * v + k * log(v))
            return log(k * v) + boost;
    }
}

/* share[n_classes] := a draw from the Dirichlet distribution whose mean are the labels' shares of all samples, but for
 * a common factor. begin: as of sort_by_label(). */
static void draw_shares(double *share, const size_t *begin, size_t n, double concentration, struct draws *d)
{
    double most = -INFINITY;

    for (size_t c = 0; c < n; c++) {
        const double n_mean = (double)begin[n] / (double)n, n_of = (double)(begin[c + 1] - begin[c]);
        share[c] = n_of > 0 ? draw_log_gamma(d, concentration * n_of / n_mean) : -INFINITY;
        most = fmax(most, share[c]);
    }
    for (size_t c = 0; c < n; c++)
        share[c] = exp(share[c] - most);
}

struct labels { /* that are left: of label c, places [next[c], begin[c + 1]) of sorted */
    const size_t *sorted, *begin;
    size_t *next;
    size_t n_classes;
};

static size_t left_of(const struct labels *l, size_t c)
{
    return l->begin[c + 1] - l->next[c];
}

/* By share, of the labels that are left; where their shares are 0, by what is left. */
static size_t draw_label(const struct labels *l, const double *share, struct draws *d)
{
    double sum = 0, rest;
    size_t last = 0;

    for (size_t c = 0; c < l->n_classes; c++)
        sum += left_of(l, c) > 0 ? share[c] : 0;
    const int by_share = sum > 0;
    for (size_t c = 0; !by_share && c < l->n_classes; c++)
        sum += (double)left_of(l, c);
    rest = draw_uniform(d) * sum;
    for (size_t c = 0; c < l->n_classes; c++) {
        if (left_of(l, c) == 0)
            continue;
        last = c;
        rest -= by_share ? share[c] : (double)left_of(l, c);
        if (rest < 0)
            break;
    }
    return last;
}

static enum rc fill_dirichlet(struct split *s, const struct dataset *d, double concentration, uint64_t seed)
{
    const size_t n_classes = d->n_classes;
    size_t *sorted = malloc(d->n_train * sizeof *sorted), *begin = malloc((n_classes + 1) * sizeof *begin);
    size_t *next = malloc((n_classes + 1) * sizeof *next);
    double *share = malloc(n_classes * sizeof *share);
    struct draws draws = { .seed = seed, .n = 0 };
    enum rc rc = RC_OK;

    if (!sorted || !begin || !next || !share)
        FAIL(RC_NOMEM, "--split: no memory for the labels of %zu samples", d->n_train);
    TRY(sort_by_label(sorted, begin, d, seed));
    memcpy(next, begin, (n_classes + 1) * sizeof *next);
    const struct labels labels = { .sorted = sorted, .begin = begin, .next = next, .n_classes = n_classes };
    for (int i = 0; i < s->n_parts; i++) {
        draw_shares(share, begin, n_classes, concentration, &draws);
        for (size_t k = s->first[i]; k < s->first[i + 1]; k++)
            s->index[k] = sorted[next[draw_label(&labels, share, &draws)]++];
    }
out:
    free(sorted);
    free(begin);
    free(next);
    free(share);
    return rc;
}

/* --- the parts --- */

static enum rc fill_by_label(struct split *s, const struct dataset *d, uint64_t seed)
{
    size_t *begin = malloc((d->n_classes + 1) * sizeof *begin);
    enum rc rc;

    if (!begin)
        return rc_raise(RC_NOMEM, "--split: no memory for %zu labels", d->n_classes);
    rc = sort_by_label(s->index, begin, d, seed);
    free(begin);
    return rc;
}

static enum rc check(const struct dataset *d, const struct split_opts *opts, int n_parts)
{
    if (opts->kind == SPLIT_UNEQUAL && opts->n_shares != n_parts)
        return rc_raise(RC_INVAL, "--split unequal: has %d shares, and there %s %d worker%s; use a share for each",
                        opts->n_shares, n_parts == 1 ? "is" : "are", n_parts, n_parts == 1 ? "" : "s");
    if (opts->kind != SPLIT_UNEQUAL && d->n_classes == 0)
        return rc_raise(RC_INVAL, "--split: the samples of data set %s have no labels; use iid or unequal:a,b,...",
                        d->name);
    for (int i = 0; i < n_parts; i++)
        if (split_part_of(opts, n_parts, i, d->n_train) == 0)
            return rc_raise(RC_INVAL, "--split: of %zu training samples worker %d of %d has none", d->n_train, i,
                            n_parts);
    return RC_OK;
}

enum rc split_open(struct split *out, const struct dataset *d, const struct split_opts *opts, int n_parts,
                   uint64_t seed)
{
    struct split s = { .n_parts = n_parts };
    enum rc rc;

    TRY(check(d, opts, n_parts));
    s.index = malloc(d->n_train * sizeof *s.index);
    s.first = malloc(((size_t)n_parts + 1) * sizeof *s.first);
    if (!s.index || !s.first)
        FAIL(RC_NOMEM, "--split: no memory for the parts of %zu samples", d->n_train);
    for (int i = 0; i <= n_parts; i++)
        s.first[i] = part_begin(opts, n_parts, i, d->n_train);
    if (opts->kind == SPLIT_UNEQUAL)
        shuffle(s.index, d->n_train, seed);
    else
        TRY(opts->kind == SPLIT_BY_LABEL ? fill_by_label(&s, d, seed)
                                         : fill_dirichlet(&s, d, opts->concentration, seed));
    *out = s;
    s = (struct split){ .index = NULL };
out:
    split_close(&s);
    return rc;
}

struct dataset_part split_part(const struct split *s, int i)
{
    return (struct dataset_part){ .index = s->index + s->first[i],
                                  .n_samples = s->first[i + 1] - s->first[i],
                                  .number = (uint64_t)i };
}

void split_close(struct split *s)
{
    free(s->index);
    free(s->first);
    *s = (struct split){ .index = NULL };
}
