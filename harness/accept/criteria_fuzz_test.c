/* SPDX-License-Identifier: Apache-2.0 */
/*
 * criteria_fuzz_test.c N - N damaged criteria files, the same ones on every run: each is refused with one printable
 * line that begins with file and line (accept.C3), or holds values in their ranges that are written and read back to
 * the same (accept.C2). Meant for the address sanitizer too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/accept/criteria.h"
#include "harness/accept/criteria_keys.h"
#include "harness/base/suite/text_fuzz.h"

enum { ROUND_TRIPS = 200 };

static char path[64]; /* of the file that is written and read */

/* In the place of a value another one. */
static void change_value(struct text_fuzz *f)
{
    static const char *const value[] = {
        "0",          "-1",      "1e308",  "1e999",   "64",     "2",    "nan",    "all",       "all,ps",  "soak",
        "noise,soak", "4,8,16",  "8,4",    "4Ki,1Mi", ",",      "[]",   "{}",     "\"\"",      "\"\\0\"", "&a x",
        "*a",         "!!int 3", "|\n  x", "0.5",     "1e-320", "ring", "100000", "\"a\\nb\"",
    };
    const char *new = value[text_fuzz_draw(f, sizeof value / sizeof *value)];

    for (size_t at = text_fuzz_draw(f, f->n_bytes); at + 2 < f->n_bytes; at++) {
        if (f->text[at] != '\n' || f->text[at + 1] < 'a' || f->text[at + 1] > 'z')
            continue;
        const char *colon = memchr(f->text + at + 1, ':', f->n_bytes - at - 1);
        if (!colon)
            return;
        const size_t from = (size_t)(colon - f->text) + 2;
        size_t n = 0;
        while (from + n < f->n_bytes && f->text[from + n] != '\n')
            n++;
        if (from <= f->n_bytes)
            text_fuzz_replace(f, from, n, new, strlen(new));
        return;
    }
}

static bool is_same(const struct criteria *a, const struct criteria *b)
{
    char value[KEY_VALUE_BYTES], other[KEY_VALUE_BYTES];

    for (int i = 0; i < CRITERIA_N_KEYS; i++) {
        key_format(&criteria_keys[i], a, value, sizeof value);
        key_format(&criteria_keys[i], b, other, sizeof other);
        if (strcmp(value, other) != 0)
            return false;
    }
    return memcmp(a->runs, b->runs, sizeof a->runs) == 0;
}

static bool is_in_range(const struct criteria *c)
{
    for (int i = 0; i < CRITERIA_N_KEYS; i++) {
        const struct key *k = &criteria_keys[i];
        const bool is_number = k->type == KEY_WHOLE || k->type == KEY_COUNT || k->type == KEY_REAL;
        if (is_number && !(key_number(k, c) >= k->least && key_number(k, c) <= k->most))
            return false;
    }
    return c->most_repeats_count >= c->least_repeats_count && c->integrity_every_steps <= c->integrity_steps_count;
}

static void check(struct text_fuzz *f, int number)
{
    struct criteria c, again;
    char *exact = malloc(f->n_bytes + (f->n_bytes == 0)); /* of its own size: a sanitizer sees who reads on */

    if (!exact) {
        text_fuzz_complain(f, number, "no memory");
        return;
    }
    memcpy(exact, f->text, f->n_bytes);
    rc_clear();
    const enum rc rc = criteria_parse(&c, "made", exact, f->n_bytes);
    free(exact);
    if (rc == RC_OK) {
        if (!is_in_range(&c))
            text_fuzz_complain(f, number, "is taken with values out of range");
        if (++f->n_taken <= ROUND_TRIPS && (criteria_write(&c, NULL, NULL, path) != RC_OK ||
                                            criteria_load(&again, path) != RC_OK || !is_same(&again, &c)))
            text_fuzz_complain(f, number, "is taken, but not the same when written and read");
        return;
    }
    f->n_refused++;
    if (rc != RC_INVAL || strncmp(rc_message(), "made:", 5) != 0 || rc_message()[5] < '1' || rc_message()[5] > '9')
        text_fuzz_complain(f, number, "is refused without file and line");
    if (!text_fuzz_is_one_line(rc_message()))
        text_fuzz_complain(f, number, "is refused with control bytes");
}

int main(int argc, char **argv)
{
    static struct text_fuzz f = { .program = "criteria_fuzz_test", .seed = 2, .change_value = change_value };
    char folder[] = "criteria-fuzz-XXXXXX";
    const int n_texts = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    struct criteria c;

    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/c.yaml", folder);
    criteria_default(&c);
    if (criteria_write(&c, NULL, "seed", path) != RC_OK || !text_fuzz_read_seed(&f, path, 2000)) {
        fprintf(stderr, "criteria_fuzz_test: no text to begin with: %s\n", rc_message());
        return 1;
    }
    for (int i = 0; i < n_texts; i++) {
        text_fuzz_change(&f);
        check(&f, i);
    }
    unlink(path);
    rmdir(folder);
    printf("%d taken, %d refused, %d failures\n", f.n_taken, f.n_refused, f.n_failures);
    /* both outcomes must occur, or nothing was tried */
    return f.n_failures == 0 && f.n_taken > n_texts / 10 && f.n_refused > n_texts / 10 ? 0 : 1;
}
