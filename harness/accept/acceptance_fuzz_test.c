/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_fuzz_test.c N - N times acceptance.jsonl with bytes and lines changed, the same ones on every run, and a
 * last line that fits: each is refused with file and line, or gives a struct that every output can be made of. Each
 * lies in a block of its own: meant for the address sanitizer too.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/bundle_parts.h"
#include "harness/accept/heat_map.h"
#include "harness/accept/judge.h"
#include "harness/accept/suite/acceptance_kit.h"
#include "harness/base/rng.h"
#include "harness/report/suite/report_kit.h"

enum { MOST_BYTES = 60000 };

struct fuzz {
    struct kit kit;
    char *seed, *text; /* text[MOST_BYTES] */
    size_t n_seed_bytes, n_bytes;
    uint64_t next; /* of the random numbers */
    int n_taken, n_refused, n_failures;
};

static size_t draw(struct fuzz *f, size_t below)
{
    return (size_t)(rng_u64(12, RNG_TEST, f->next++) % below);
}

static void make_seed(struct fuzz *f)
{
    struct acceptance a;

    if (!kit_open(&f->kit))
        abort();
    kit_acceptance(&a, ALL_FAULTS & ~FAULT_IN_PS);
    kit_add_rank_orders(&a);
    if (acceptance_save(&a, kit_path(&f->kit, "acceptance.jsonl")) != RC_OK)
        abort();
    f->seed = strdup(kit_read(&f->kit, "acceptance.jsonl"));
    f->text = malloc(MOST_BYTES);
    if (!f->seed || !f->text)
        abort();
    f->n_seed_bytes = (size_t)(strstr(f->seed, "{\"kind\":\"end\"") - f->seed); /* without its end */
    acceptance_close(&a);
}

/* The begin of a line, and its bytes with the line feed. */
static size_t draw_line(struct fuzz *f, size_t *n_bytes)
{
    size_t at = draw(f, f->n_bytes);

    while (at > 0 && f->text[at - 1] != '\n')
        at--;
    const char *end = memchr(f->text + at, '\n', f->n_bytes - at);
    *n_bytes = end ? (size_t)(end - f->text) + 1 - at : f->n_bytes - at;
    return at;
}

/* Take n_bytes at a place away, or put them there once more. */
static void cut(struct fuzz *f, size_t at, size_t n_bytes)
{
    memmove(f->text + at, f->text + at + n_bytes, f->n_bytes - at - n_bytes);
    f->n_bytes -= n_bytes;
}

static void repeat(struct fuzz *f, size_t at, size_t n_bytes)
{
    if (f->n_bytes + n_bytes > MOST_BYTES - ACCEPTANCE_END_BYTES)
        return;
    memmove(f->text + at + n_bytes, f->text + at, f->n_bytes - at);
    f->n_bytes += n_bytes;
}

/* A number somewhere, or part of one, becomes another. */
static void change_number(struct fuzz *f)
{
    static const char *const numbers[] = { "-1", "0",    "4",  "5",  "7",    "8",     "9",   "64",
                                           "65", "null", "1e", "{}", "1e99", "1e999", "4.0", "\"\"" };
    const size_t at = draw(f, f->n_bytes);
    const char *number = numbers[draw(f, sizeof numbers / sizeof *numbers)];
    size_t digit = at, n = 0;

    while (digit < f->n_bytes && !strchr("0123456789", f->text[digit]))
        digit++;
    while (digit + n < f->n_bytes && strchr("0123456789.", f->text[digit + n]))
        n++;
    if (n == 0 || f->n_bytes + 8 > MOST_BYTES - ACCEPTANCE_END_BYTES)
        return;
    cut(f, digit, n);
    const size_t n_new = strlen(number);
    memmove(f->text + digit + n_new, f->text + digit, f->n_bytes - digit);
    memcpy(f->text + digit, number, n_new);
    f->n_bytes += n_new;
}

static void change(struct fuzz *f)
{
    static const char bytes[] = "\"{}[],:0\\\n\x01\xff";

    memcpy(f->text, f->seed, f->n_seed_bytes);
    f->n_bytes = f->n_seed_bytes;
    for (size_t i = 1 + draw(f, 3); i > 0; i--) {
        size_t n_line;
        const size_t line = draw_line(f, &n_line);
        const size_t how = draw(f, 8);
        if (how < 4)
            change_number(f);
        else if (how == 4)
            f->text[draw(f, f->n_bytes)] = bytes[draw(f, sizeof bytes - 1)];
        else if (how == 5)
            f->text[draw(f, f->n_bytes)] = (char)(draw(f, 95) + 32);
        else if (how == 6)
            cut(f, line, n_line);
        else
            repeat(f, line, n_line);
    }
}

/* In a block of its own, with an end that fits. */
static char *ended(struct fuzz *f)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char end[ACCEPTANCE_END_BYTES];

    crypto_hash_sha256(digest, (const unsigned char *)f->text, f->n_bytes);
    acceptance_end_line(end, digest);
    char *block = malloc(f->n_bytes + strlen(end));
    if (!block)
        abort();
    memcpy(block, f->text, f->n_bytes);
    memcpy(block + f->n_bytes, end, strlen(end));
    f->n_bytes += strlen(end);
    return block;
}

static void complain(struct fuzz *f, int number, const char *what)
{
    fprintf(stderr, "acceptance_fuzz_test: %d: %s: %s\n", number, what, rc_message());
    f->n_failures++;
}

/* Every output of what was taken. */
static void show(struct fuzz *f, int number, const struct acceptance *a)
{
    FILE *nowhere = fopen("/dev/null", "w");
    char *svg = NULL;
    size_t n_bytes;
    int n_worse;

    if (!nowhere)
        abort();
    if (acceptance_print(a, nowhere) != RC_OK || acceptance_diff(a, a, true, nowhere, &n_worse) != RC_OK ||
        acceptance_junit(a, kit_path(&f->kit, "junit.xml")) != RC_OK || acceptance_hosts(a, f->kit.dir) != RC_OK ||
        acceptance_page(a, kit_path(&f->kit, "report.html")) != RC_OK)
        complain(f, number, "an output cannot be made");
    if (a->tournament.n_repeats > 0 && heat_map_svg(&svg, &n_bytes, a, PAIR_LATENCY) != RC_OK)
        complain(f, number, "no map");
    free(svg);
    fclose(nowhere);
}

static void judge_again(struct fuzz *f, int number, struct acceptance *a)
{
    struct criteria c;

    criteria_default(&c);
    if (judge(a, &c) != RC_OK)
        complain(f, number, "cannot be judged");
}

static void check(struct fuzz *f, int number)
{
    struct acceptance a;
    char *block = ended(f);

    rc_clear();
    const enum rc rc = acceptance_parse(&a, "FILE", block, f->n_bytes);
    if (rc == RC_OK) {
        f->n_taken++;
        if (f->n_taken % 2 == 0) /* as acceptance_read() does of a partial one */
            judge_again(f, number, &a);
        if (f->n_taken % 64 == 0) /* pages take a while */
            show(f, number, &a);
        acceptance_close(&a);
    } else {
        f->n_refused++;
        if (rc != RC_INVAL || strncmp(rc_message(), "FILE: line ", 11) != 0)
            complain(f, number, rc_name(rc));
    }
    free(block);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    struct fuzz f = { .next = 0 };

    make_seed(&f);
    for (int i = 0; i < n; i++) {
        change(&f);
        check(&f, i);
    }
    printf("%d taken, %d refused\n", f.n_taken, f.n_refused);
    if (f.n_taken < n / 20 || f.n_refused < n / 20)
        complain(&f, n, "hardly any was taken, or hardly any refused");
    kit_close(&f.kit);
    free(f.seed);
    free(f.text);
    return f.n_failures > 0;
}
