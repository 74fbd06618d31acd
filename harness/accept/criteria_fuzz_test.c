/* SPDX-License-Identifier: Apache-2.0 */
/*
 * criteria_fuzz_test.c N - N damaged criteria files, the same ones on every run: each is refused with one printable
 * line that begins with file and line (accept.C3), or holds values in their ranges that are written and read back to
 * the same (accept.C2). Meant for the address sanitizer too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/accept/criteria.h"
#include "harness/accept/criteria_keys.h"
#include "harness/base/rng.h"

enum { TEXT_BYTES = 32768, ROUND_TRIPS = 200 };

struct fuzz {
    char path[64]; /* of the file that is written and read */
    char seed_text[TEXT_BYTES], text[2 * TEXT_BYTES];
    size_t n_seed_bytes, n_bytes;
    uint64_t next; /* of the random numbers */
    int n_taken, n_refused, n_failures;
};

static size_t draw(struct fuzz *f, size_t below)
{
    return (size_t)(rng_u64(2, RNG_TEST, f->next++) % below);
}

static void replace(struct fuzz *f, size_t at, size_t n_old, const char *new, size_t n_new)
{
    if (f->n_bytes - n_old + n_new >= sizeof f->text)
        return;
    memmove(f->text + at + n_new, f->text + at + n_old, f->n_bytes - at - n_old);
    memcpy(f->text + at, new, n_new);
    f->n_bytes += n_new - n_old;
}

static void flip_byte(struct fuzz *f)
{
    f->text[draw(f, f->n_bytes)] = (char)draw(f, 256);
}

static void drop_bytes(struct fuzz *f)
{
    const size_t at = draw(f, f->n_bytes), left = f->n_bytes - at;

    replace(f, at, 1 + draw(f, left < 40 ? left : 40), "", 0);
}

static void cut_off(struct fuzz *f)
{
    f->n_bytes = draw(f, f->n_bytes) + 1;
}

static void copy_bytes(struct fuzz *f)
{
    char part[64];
    const size_t from = draw(f, f->n_bytes), left = f->n_bytes - from;
    const size_t n = 1 + draw(f, left < sizeof part ? left : sizeof part);

    memcpy(part, f->text + from, n);
    replace(f, draw(f, f->n_bytes), 0, part, n);
}

/* In the place of a value another one. */
static void change_value(struct fuzz *f)
{
    static const char *const value[] = {
        "0",          "-1",      "1e308",  "1e999",   "64",     "2",    "nan",    "all",       "all,ps",  "soak",
        "noise,soak", "4,8,16",  "8,4",    "4Ki,1Mi", ",",      "[]",   "{}",     "\"\"",      "\"\\0\"", "&a x",
        "*a",         "!!int 3", "|\n  x", "0.5",     "1e-320", "ring", "100000", "\"a\\nb\"",
    };
    const char *new = value[draw(f, sizeof value / sizeof *value)];

    for (size_t at = draw(f, f->n_bytes); at + 2 < f->n_bytes; at++) {
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
            replace(f, from, n, new, strlen(new));
        return;
    }
}

static void change(struct fuzz *f)
{
    static void (*const way[])(struct fuzz *) = { flip_byte,    drop_bytes,   cut_off,     copy_bytes,
                                                  change_value, change_value, change_value };
    const size_t n_changes = 1 + draw(f, 3);

    memcpy(f->text, f->seed_text, f->n_seed_bytes);
    f->n_bytes = f->n_seed_bytes;
    for (size_t i = 0; i < n_changes && f->n_bytes > 0; i++)
        way[draw(f, sizeof way / sizeof *way)](f);
}

static void complain(struct fuzz *f, int number, const char *what)
{
    fprintf(stderr, "criteria_fuzz_test: text %d: %s: %s\n", number, what, rc_message());
    f->n_failures++;
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

static bool is_one_line(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static void check(struct fuzz *f, int number)
{
    struct criteria c, again;
    char *exact = malloc(f->n_bytes + (f->n_bytes == 0)); /* of its own size: a sanitizer sees who reads on */

    if (!exact) {
        complain(f, number, "no memory");
        return;
    }
    memcpy(exact, f->text, f->n_bytes);
    rc_clear();
    const enum rc rc = criteria_parse(&c, "made", exact, f->n_bytes);
    free(exact);
    if (rc == RC_OK) {
        if (!is_in_range(&c))
            complain(f, number, "is taken with values out of range");
        if (++f->n_taken <= ROUND_TRIPS && (criteria_write(&c, NULL, NULL, f->path) != RC_OK ||
                                            criteria_load(&again, f->path) != RC_OK || !is_same(&again, &c)))
            complain(f, number, "is taken, but not the same when written and read");
        return;
    }
    f->n_refused++;
    if (rc != RC_INVAL || strncmp(rc_message(), "made:", 5) != 0 || rc_message()[5] < '1' || rc_message()[5] > '9')
        complain(f, number, "is refused without file and line");
    if (!is_one_line(rc_message()))
        complain(f, number, "is refused with control bytes");
}

static int read_seed(struct fuzz *f)
{
    struct criteria c;

    criteria_default(&c);
    if (criteria_write(&c, NULL, "seed", f->path) != RC_OK)
        return 0;
    FILE *from = fopen(f->path, "r");
    if (!from)
        return 0;
    f->n_seed_bytes = fread(f->seed_text, 1, sizeof f->seed_text, from);
    fclose(from);
    return f->n_seed_bytes > 2000 && f->n_seed_bytes < sizeof f->seed_text;
}

int main(int argc, char **argv)
{
    static struct fuzz f;
    char folder[] = "criteria-fuzz-XXXXXX";
    const int n_texts = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;

    if (!mkdtemp(folder))
        return 1;
    snprintf(f.path, sizeof f.path, "%s/c.yaml", folder);
    if (!read_seed(&f)) {
        fprintf(stderr, "criteria_fuzz_test: no text to begin with: %s\n", rc_message());
        return 1;
    }
    for (int i = 0; i < n_texts; i++) {
        change(&f);
        check(&f, i);
    }
    unlink(f.path);
    rmdir(folder);
    printf("%d taken, %d refused, %d failures\n", f.n_taken, f.n_refused, f.n_failures);
    /* both outcomes must occur, or nothing was tried */
    return f.n_failures == 0 && f.n_taken > n_texts / 10 && f.n_refused > n_texts / 10 ? 0 : 1;
}
