/* SPDX-License-Identifier: Apache-2.0 */
/* split_test.c - the parts of a split: whole, disjoint, the same for the same seed, and of the labels that are
 * promised.
 *
 * usage: split_test DIGITS.csv
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "data/split.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

enum { N_CLASSES = 10, MOST_PARTS = 16 };

static void open_split(struct split *out, const struct dataset *d, const char *text, int n_parts, uint64_t seed)
{
    struct split_opts opts;

    assert_int_equal(split_parse(&opts, text), RC_OK);
    if (split_open(out, d, &opts, n_parts, seed) != RC_OK)
        fail_msg("%s of %d: %s", text, n_parts, rc_message());
}

/* count[part][label] */
static void count_labels(size_t count[MOST_PARTS][N_CLASSES], const struct split *s, const struct dataset *d)
{
    memset(count, 0, MOST_PARTS * sizeof *count);
    for (int i = 0; i < s->n_parts; i++) {
        const struct dataset_part p = split_part(s, i);
        for (size_t k = 0; k < p.n_samples; k++)
            count[i][d->ops->label(d, p.index[k])]++;
    }
}

/* data.D3 */
UNIT_TEST(parts_are_the_data)
{
    static const char *const text[] = { "by-label", "dirichlet:0.001", "dirichlet:0.3", "dirichlet:1000" };
    const struct dataset *d = *state;
    unsigned char *seen = malloc(d->n_train);

    assert_non_null(seen);
    for (size_t t = 0; t < sizeof text / sizeof *text; t++)
        for (int n_parts = 1; n_parts <= MOST_PARTS; n_parts += 3) {
            struct split s;
            open_split(&s, d, text[t], n_parts, 5);
            memset(seen, 0, d->n_train);
            for (int i = 0; i < n_parts; i++) {
                const struct dataset_part p = split_part(&s, i);
                assert_true(p.n_samples == d->n_train / (size_t)n_parts ||
                            p.n_samples == d->n_train / (size_t)n_parts + 1);
                for (size_t k = 0; k < p.n_samples; k++) {
                    assert_true(p.index[k] < d->n_train);
                    assert_int_equal(seen[p.index[k]]++, 0);
                }
            }
            assert_null(memchr(seen, 0, d->n_train));
            split_close(&s);
        }
    free(seen);
}

UNIT_TEST(follows_its_seed)
{
    static const char *const text[] = { "by-label", "dirichlet:0.3" };
    const struct dataset *d = *state;

    for (size_t t = 0; t < sizeof text / sizeof *text; t++) {
        struct split a, b, c;
        open_split(&a, d, text[t], 4, 5);
        open_split(&b, d, text[t], 4, 5);
        open_split(&c, d, text[t], 4, 6);
        assert_memory_equal(a.index, b.index, d->n_train * sizeof *a.index);
        assert_memory_not_equal(a.index, c.index, d->n_train * sizeof *a.index);
        split_close(&a);
        split_close(&b);
        split_close(&c);
    }
}

/* Ten labels to five workers: two each and the rest of a cut at most; a label is in neighbouring parts alone. */
UNIT_TEST(by_label)
{
    const struct dataset *d = *state;
    size_t count[MOST_PARTS][N_CLASSES];
    struct split s;
    int last = 0;

    open_split(&s, d, "by-label", 5, 1);
    count_labels(count, &s, d);
    for (int i = 0; i < 5; i++) {
        int first = N_CLASSES, n_between = 0, n_last = 0;
        for (int c = 0; c < N_CLASSES; c++)
            if (count[i][c] > 0) {
                first = c < first ? c : first;
                n_last = c;
                n_between++;
            }
        assert_true(n_between <= 4 && n_last - first + 1 == n_between);
        assert_true(first >= last); /* in the order of labels */
        last = n_last;
    }
    split_close(&s);
}

/* How far a worker's labels are from those of all: half the sum of the differences of their shares, mean of parts. */
static double distance(const struct dataset *d, const char *text, uint64_t seed)
{
    size_t count[MOST_PARTS][N_CLASSES];
    double all[N_CLASSES] = { 0 }, sum = 0;
    struct split s;

    open_split(&s, d, text, 4, seed);
    count_labels(count, &s, d);
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < N_CLASSES; c++)
            all[c] += (double)count[i][c] / (double)d->n_train;
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < N_CLASSES; c++)
            sum += fabs((double)count[i][c] / (double)split_part(&s, i).n_samples - all[c]) / 2 / 4;
    split_close(&s);
    return sum;
}

/* The smaller the concentration, the farther apart; without bound it is all, alike, up to what chance does to 360 draws
 * (0.045 a worker); near 0 a worker draws one label, until that is used up. */
UNIT_TEST(concentration_orders)
{
    const struct dataset *d = *state;
    double mean[4] = { 0 };
    static const char *const text[4] = { "dirichlet:10000", "dirichlet:3", "dirichlet:0.3", "dirichlet:0.01" };

    for (int t = 0; t < 4; t++)
        for (uint64_t seed = 1; seed <= 5; seed++)
            mean[t] += distance(d, text[t], seed) / 5;
    assert_true(mean[0] < 0.09);
    assert_true(mean[0] < 0.7 * mean[1] && mean[1] < 0.7 * mean[2] && mean[2] < mean[3]);
    assert_true(mean[3] > 0.6);
}

/* Once all labels are used up of which a worker has a share above 0, it draws of all that are left. */
UNIT_TEST(shares_of_0_leave_all_labels)
{
    const struct dataset *d = *state;
    size_t count[MOST_PARTS][N_CLASSES];
    int most_labels = 0;
    struct split s;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        open_split(&s, d, "dirichlet:0.001", MOST_PARTS, seed);
        count_labels(count, &s, d);
        for (int i = 0; i < MOST_PARTS; i++) {
            int n_labels = 0;
            for (int c = 0; c < N_CLASSES; c++)
                n_labels += count[i][c] > 0;
            most_labels = n_labels > most_labels ? n_labels : most_labels;
        }
        split_close(&s);
    }
    assert_true(most_labels >= 6);
}

/* A first worker's shares have the moments of a Dirichlet distribution: mean 1/10, variance 0.09 / (10 A + 1). */
UNIT_TEST(shares_have_their_variance)
{
    enum { N_DRAWS = 400 };
    const struct dataset *d = *state;
    size_t count[MOST_PARTS][N_CLASSES];
    double squared = 0;
    struct split s;

    for (uint64_t seed = 0; seed < N_DRAWS; seed++) {
        open_split(&s, d, "dirichlet:2", MOST_PARTS, seed);
        count_labels(count, &s, d);
        const double n = (double)split_part(&s, 0).n_samples;
        for (int c = 0; c < N_CLASSES; c++)
            squared += pow((double)count[0][c] / n - 0.1, 2) / (N_DRAWS * N_CLASSES);
        split_close(&s);
    }
    /* That of the shares, and that of 90 draws by them: (E q - E q^2) / 90. */
    const double shares = 0.09 / 21, draws = (0.1 - 0.01 - shares) / 90;
    assert_true(fabs(squared / (shares + draws) - 1) < 0.1);
}

/* Sizes are as the shares; things of a round, too, and over all parts none is lost. */
UNIT_TEST(unequal)
{
    struct split_opts opts;
    struct dataset *line = NULL;
    struct split s;
    size_t sum = 0;

    assert_int_equal(dataset_open_line(&line, 1), RC_OK);
    open_split(&s, line, "unequal:5,3,2", 3, 1);
    assert_int_equal(split_part(&s, 0).n_samples, 500);
    assert_int_equal(split_part(&s, 1).n_samples, 300);
    assert_int_equal(split_part(&s, 2).n_samples, 200);
    split_close(&s);
    assert_int_equal(split_parse(&opts, "unequal:1,1,1"), RC_OK);
    for (int i = 0; i < 3; i++)
        sum += split_part_of(&opts, 3, i, 64);
    assert_int_equal(sum, 64);
    dataset_close(&line);
}

/* data.D4 */
UNIT_TEST(epochs_visit_the_part)
{
    const struct dataset *d = *state;
    struct split s;
    unsigned char *seen = malloc(d->n_train);
    size_t n_same = 0;

    assert_non_null(seen);
    open_split(&s, d, "by-label", 4, 9);
    for (int i = 0; i < 4; i++) {
        const struct dataset_part p = split_part(&s, i);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            memset(seen, 0, d->n_train);
            for (size_t k = 0; k < p.n_samples; k++)
                seen[dataset_part_index(d, &p, 9, epoch * p.n_samples + k)]++;
            for (size_t k = 0; k < p.n_samples; k++)
                assert_int_equal(seen[p.index[k]], 1);
        }
        for (size_t k = 0; k < p.n_samples; k++)
            n_same += dataset_part_index(d, &p, 9, k) == dataset_part_index(d, &p, 9, p.n_samples + k);
        assert_int_equal(dataset_part_index(d, NULL, 9, 17), dataset_index(d, 9, 17));
    }
    assert_true(n_same < d->n_train / 20); /* epochs have orders of their own */
    split_close(&s);
    free(seen);
}

UNIT_TEST(refuses)
{
    static const struct {
        const char *text, *message;
    } c[] = { { "labels", "--split labels: is no split; use iid, by-label" },
              { "dirichlet:0", "--split dirichlet:0: the concentration is a number from 0.001" },
              { "dirichlet:x", "the concentration is a number" },
              { "unequal:3", "needs a share for each worker" },
              { "unequal:3,-1", "a share is a number above 0" },
              { "unequal:3,x", "a share is a number above 0" } };
    const struct dataset *d = *state;
    struct dataset *line = NULL;
    struct split_opts opts;
    struct split s;

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        assert_int_equal(split_parse(&opts, c[i].text), RC_INVAL);
        if (!strstr(rc_message(), c[i].message))
            fail_msg("'%s' has no '%s'", rc_message(), c[i].message);
    }
    assert_int_equal(dataset_open_line(&line, 1), RC_OK);
    assert_int_equal(split_parse(&opts, "by-label"), RC_OK);
    assert_int_equal(split_open(&s, line, &opts, 2, 1), RC_INVAL);
    assert_names(rc_message(), "--split: ... line ... labels");
    assert_int_equal(split_open(&s, d, &opts, 2000, 1), RC_INVAL);
    assert_names(rc_message(), "--split: ... 1438 training samples worker 1438 of 2000");
    assert_int_equal(split_parse(&opts, "unequal:1,2"), RC_OK);
    assert_int_equal(split_open(&s, line, &opts, 3, 1), RC_INVAL);
    assert_non_null(strstr(rc_message(), "has 2 shares, and there are 3 workers"));
    dataset_close(&line);
}

static const char *digits_path;

static int open_digits(void **state)
{
    return dataset_open_digits((struct dataset **)state, digits_path) != RC_OK;
}

static int close_digits(void **state)
{
    dataset_close((struct dataset **)state);
    return 0;
}

int main(int argc, char **argv)
{
    digits_path = argc == 2 ? argv[1] : "";
    return unit_run("split", NULL, open_digits, close_digits);
}
