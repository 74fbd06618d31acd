/* SPDX-License-Identifier: Apache-2.0 */
/* host_list.c - folds host names in Slurm's format: "host[1-3,7],other"; see host_list.h. */
#include "harness/accept/host_list.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char DIGITS[] = "0123456789";
enum { MOST_DIGITS = 18 }; /* more are no number, and part of the name */

struct host {
    const char *name;
    size_t n_prefix, n_digits; /* name = prefix, then digits */
    size_t group;              /* the place of the first name with this prefix */
    uint64_t number;
};

bool host_name_is_plain(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";

    return name[0] != '\0' && name[0] != '-' && name[strspn(name, plain)] == '\0';
}

static struct host host_of(const char *name)
{
    struct host h = { .name = name, .n_prefix = strlen(name) };

    while (h.n_prefix > 0 && strchr(DIGITS, name[h.n_prefix - 1]))
        h.n_prefix--;
    h.n_digits = strlen(name) - h.n_prefix;
    if (h.n_digits > MOST_DIGITS) {
        h.n_prefix += h.n_digits;
        h.n_digits = 0;
    }
    if (h.n_digits > 0)
        h.number = strtoull(name + h.n_prefix, NULL, 10);
    return h;
}

/* A name without digits has no group with one that has some. */
static bool has_prefix_of(const struct host *a, const struct host *b)
{
    return a->n_prefix == b->n_prefix && (a->n_digits > 0) == (b->n_digits > 0) &&
           memcmp(a->name, b->name, a->n_prefix) == 0;
}

static int by_prefix(const void *a, const void *b)
{
    const struct host *x = *(struct host *const *)a, *y = *(struct host *const *)b;
    const int order = strncmp(x->name, y->name, x->n_prefix < y->n_prefix ? x->n_prefix : y->n_prefix);

    if (order != 0)
        return order;
    if (x->n_prefix != y->n_prefix)
        return x->n_prefix < y->n_prefix ? -1 : 1;
    if ((x->n_digits > 0) != (y->n_digits > 0))
        return x->n_digits > 0 ? 1 : -1;
    return (x > y) - (x < y);
}

/* Groups, then numbers of as many digits together, each in rising order. */
static int by_number(const void *a, const void *b)
{
    const struct host *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->n_digits != y->n_digits)
        return x->n_digits < y->n_digits ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* accept.H2: the place of the first name with its prefix, for each. by[n] is room. */
static void find_groups(struct host *host, struct host **by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        by[i] = &host[i];
    qsort(by, n, sizeof *by, by_prefix);
    for (size_t i = 0; i < n; i++)
        by[i]->group = i > 0 && has_prefix_of(by[i], by[i - 1]) ? by[i - 1]->group : (size_t)(by[i] - host);
}

static bool has_leading_zero(const struct host *h)
{
    return h->n_digits > 1 && h->name[h->n_prefix] == '0';
}

/* Is b the next number after a, in a range that begins with first (accept.H1)? */
static bool is_next(const struct host *first, const struct host *a, const struct host *b)
{
    return b->group == a->group && b->number == a->number + 1 &&
           (b->n_digits == a->n_digits ||
            (b->n_digits == a->n_digits + 1 && !has_leading_zero(first) && !has_leading_zero(b)));
}

static bool is_same(const struct host *a, const struct host *b)
{
    return strcmp(a->name, b->name) == 0;
}

/* The hosts of a group, which begin at host[0]: "host[1-3,7]". Returns how many they are. */
static size_t print_group(const struct host *host, size_t n, FILE *to)
{
    size_t n_group = 1, n_different = 1;

    for (; n_group < n && host[n_group].group == host[0].group; n_group++)
        n_different += !is_same(&host[n_group], &host[n_group - 1]);
    if (n_different == 1) {
        fputs(host[0].name, to);
        return n_group;
    }
    fprintf(to, "%.*s[", (int)host[0].n_prefix, host[0].name);
    for (size_t i = 0, end; i < n_group; i = end) {
        for (end = i + 1;
             end < n_group && (is_same(&host[end], &host[end - 1]) || is_next(&host[i], &host[end - 1], &host[end]));)
            end++;
        fprintf(to, "%s%s", i > 0 ? "," : "", host[i].name + host[i].n_prefix);
        if (!is_same(&host[end - 1], &host[i]))
            fprintf(to, "-%s", host[end - 1].name + host[end - 1].n_prefix);
    }
    fputc(']', to);
    return n_group;
}

enum rc host_list_fold(char **out, const char *const *name, size_t n_names)
{
    struct host *host = malloc((n_names + 1) * sizeof *host), **by = malloc((n_names + 1) * sizeof *by);
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);
    enum rc rc = RC_OK;

    if (!host || !by || !to)
        FAIL(RC_NOMEM, "no memory for a list of %zu hosts", n_names);
    for (size_t i = 0; i < n_names; i++)
        host[i] = host_of(name[i]);
    find_groups(host, by, n_names);
    qsort(host, n_names, sizeof *host, by_number);
    for (size_t i = 0; i < n_names;) {
        fputs(i > 0 ? "," : "", to);
        i += print_group(&host[i], n_names - i, to);
    }
out:
    free(host);
    free(by);
    if (to && fclose(to) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for a list of %zu hosts", n_names);
    if (rc == RC_OK)
        *out = text;
    else
        free(text);
    return rc;
}
