/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.c - fault injection for the self-test and for exercises: the effect of a slow rank, a slow link or a flipped
 * bit, in any world; see inject.h.
 */
#include "harness/accept/inject.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/text.h"
#include "harness/world/world.h"

enum { WORD_BYTES = 64, CHOICES_BYTES = 160, MOST_NUMBER = 1 << 24 };

static const char *const kind_names[] = { "rank", "node", "link", "stall", "kill", "flip", "loss", NULL };

static const char right_form[] =
    "rank:5=0.7, node:3=0.6, link:1-4=0.6, link:1>4=0.6, stall:2, loss:3=0.05, kill:2, kill:2@soak or flip:2@30";

static bool is_of_nodes(const struct fault *f)
{
    return f->kind == FAULT_SLOW_NODE || f->kind == FAULT_SLOW_LINK || f->kind == FAULT_LOSS;
}

/* Digits at *at, which is then behind them; -1: there are none, or too many. */
static int number_at(const char **at)
{
    int n = 0;

    if (!isdigit((unsigned char)**at))
        return -1;
    for (; isdigit((unsigned char)**at); ++*at) {
        n = 10 * n + (**at - '0');
        if (n > MOST_NUMBER)
            return -1;
    }
    return n;
}

/* "=0.6" to the end of a word. */
static enum rc read_ratio(struct fault *f, const char *at, const char *word)
{
    const int n = (int)(at - word);

    if (*at != '=')
        return rc_raise(RC_INVAL, "--inject %s: add the speed, as in %.*s=0.6 (60 %% of the healthy speed)", word, n,
                        word);
    if (!text_to_f64(at + 1, &f->ratio) || !(f->ratio > 0 && f->ratio < 1))
        return rc_raise(RC_INVAL,
                        "--inject %s: the speed must be above 0 and below 1, as in %.*s=0.6 (60 %% of the healthy "
                        "speed)",
                        word, n, word);
    return RC_OK;
}

static enum rc read_share(struct fault *f, const char *at, const char *word)
{
    const int n = (int)(at - word);

    if (*at != '=')
        return rc_raise(RC_INVAL, "--inject %s: add the share of lost messages, as in %.*s=0.05 (5 %%)", word, n, word);
    if (!text_to_f64(at + 1, &f->ratio) || !(f->ratio > 0 && f->ratio < 1))
        return rc_raise(RC_INVAL,
                        "--inject %s: the share of lost messages must be above 0 and below 1, as in %.*s=0.05 (5 %%)",
                        word, n, word);
    return RC_OK;
}

/* "1-4" or "1>4"; *at is then behind it. */
static enum rc read_ends(struct fault *f, const char **at, const char *word)
{
    const char between = **at;

    if (between != '-' && between != '>')
        return rc_raise(RC_INVAL,
                        "--inject %s: a link has two nodes, as in link:1-4=0.6 (both directions) or link:1>4=0.6 "
                        "(from 1 to 4)",
                        word);
    ++*at;
    f->both_ways = between == '-';
    f->b = number_at(at);
    if (f->b < 0)
        return rc_raise(RC_INVAL, "--inject %s: add the second node, as in link:1%c4=0.6", word, between);
    if (f->a == f->b)
        return rc_raise(RC_INVAL, "--inject %s: node %d has no link to itself; name two nodes", word, f->a);
    return RC_OK;
}

static enum rc read_end(const char *at, const char *word)
{
    if (*at)
        return rc_raise(RC_INVAL, "--inject %s: remove \"%s\"; faults are written as in %s", word, at, right_form);
    return RC_OK;
}

/* "@soak" to the end of a word, or nothing: the pairwise stage. */
static enum rc read_stage(struct fault *f, const char *at, const char *word)
{
    const char *names[ACCEPT_N_STAGES + 1] = { NULL };
    char choices[CHOICES_BYTES];

    f->stage = ACCEPT_PAIRWISE;
    if (!*at)
        return RC_OK;
    if (*at != '@')
        return read_end(at, word);
    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        names[s] = accept_stage_name((enum accept_stage)s);
        if (strcmp(at + 1, names[s]) == 0) {
            f->stage = (enum accept_stage)s;
            return RC_OK;
        }
    }
    text_say_choices(choices, sizeof choices, at + 1, names);
    return rc_raise(RC_INVAL, "--inject %s: no such stage%s", word, choices);
}

static enum rc read_step(struct fault *f, const char *at, const char *word)
{
    if (*at != '@' || !text_to_u64(at + 1, &f->step))
        return rc_raise(RC_INVAL, "--inject %s: name the step, as in flip:2@30", word);
    return RC_OK;
}

static enum rc find_kind(enum fault_kind *out, const char *word, size_t n_name)
{
    char name[WORD_BYTES], choices[CHOICES_BYTES];

    for (int k = 0; kind_names[k]; k++)
        if (strlen(kind_names[k]) == n_name && strncmp(kind_names[k], word, n_name) == 0) {
            *out = (enum fault_kind)k;
            return RC_OK;
        }
    snprintf(name, sizeof name, "%.*s", (int)n_name, word);
    text_say_choices(choices, sizeof choices, name, kind_names);
    return rc_raise(RC_INVAL, "--inject %s: no such fault%s", word, choices);
}

static enum rc parse_fault(struct fault *out, const char *word)
{
    const char *at = strchr(word, ':');
    struct fault f = { .b = -1 };
    enum rc rc;

    if (!word[0])
        FAIL(RC_INVAL, "--inject: a fault is empty; faults are written as in %s", right_form);
    if (!at)
        FAIL(RC_INVAL, "--inject %s: has no colon; faults are written as in %s", word, right_form);
    TRY(find_kind(&f.kind, word, (size_t)(at - word)));
    at++;
    f.a = number_at(&at);
    if (f.a < 0)
        FAIL(RC_INVAL, "--inject %s: add the number of a %s behind the colon, as in %s", word,
             is_of_nodes(&f) ? "node" : "rank", right_form);
    switch (f.kind) {
    case FAULT_SLOW_LINK:
        TRY(read_ends(&f, &at, word));
        TRY(read_ratio(&f, at, word));
        break;
    case FAULT_SLOW_RANK:
    case FAULT_SLOW_NODE:
        TRY(read_ratio(&f, at, word));
        break;
    case FAULT_STALL:
    case FAULT_KILL:
        TRY(read_stage(&f, at, word));
        break;
    case FAULT_FLIP:
        TRY(read_step(&f, at, word));
        break;
    case FAULT_LOSS:
        TRY(read_share(&f, at, word));
        break;
    }
    *out = f;
out:
    return rc;
}

/* Is one of the two without effect? */
static bool is_repeated(const struct fault *f, const struct fault *g)
{
    const bool is_turned = f->both_ways && f->a == g->b && f->b == g->a;

    return f->kind == g->kind && f->both_ways == g->both_ways && f->stage == g->stage &&
           (is_turned || (f->a == g->a && f->b == g->b));
}

enum rc inject_parse(struct inject *out, const char *text)
{
    struct inject found = { .n_faults = 0 };
    char word[WORD_BYTES];
    enum rc rc = RC_OK;

    for (const char *rest = *text ? text : NULL; text_next(&rest, word, sizeof word);) {
        if (found.n_faults == INJECT_MAX_FAULTS)
            FAIL(RC_INVAL, "--inject: more than %d faults, from \"%s\" on", INJECT_MAX_FAULTS, word);
        struct fault *f = &found.fault[found.n_faults];
        TRY(parse_fault(f, word));
        for (int k = 0; k < found.n_faults; k++)
            if (is_repeated(&found.fault[k], f))
                FAIL(RC_INVAL, "--inject %s: such a fault is given already; leave out one of the two", word);
        found.n_faults++;
    }
    *out = found;
out:
    return rc;
}

enum rc inject_check(const struct inject *i, int n_nodes, int n_ranks)
{
    for (int k = 0; k < i->n_faults; k++) {
        const struct fault *f = &i->fault[k];
        const int n = is_of_nodes(f) ? n_nodes : n_ranks, most = f->b > f->a ? f->b : f->a;
        char text[WORD_BYTES];
        if (most < n)
            continue;
        inject_text(text, sizeof text, f);
        return rc_raise(RC_INVAL, "--inject %s: there is no %s %d; they are 0 to %d", text,
                        is_of_nodes(f) ? "node" : "rank", f->a >= n ? f->a : f->b, n - 1);
    }
    return RC_OK;
}

void inject_text(char *out, size_t n_bytes, const struct fault *f)
{
    const char *kind = kind_names[f->kind];

    switch (f->kind) {
    case FAULT_SLOW_RANK:
    case FAULT_SLOW_NODE:
    case FAULT_LOSS:
        snprintf(out, n_bytes, "%s:%d=%.12g", kind, f->a, f->ratio);
        break;
    case FAULT_SLOW_LINK:
        snprintf(out, n_bytes, "%s:%d%c%d=%.12g", kind, f->a, f->both_ways ? '-' : '>', f->b, f->ratio);
        break;
    case FAULT_STALL:
    case FAULT_KILL:
        if (f->stage == ACCEPT_PAIRWISE)
            snprintf(out, n_bytes, "%s:%d", kind, f->a);
        else
            snprintf(out, n_bytes, "%s:%d@%s", kind, f->a, accept_stage_name(f->stage));
        break;
    case FAULT_FLIP:
        snprintf(out, n_bytes, "%s:%d@%llu", kind, f->a, (unsigned long long)f->step);
        break;
    }
}

/* What took elapsed_ns takes 1 / ratio times as long, and what noise adds. */
static void pause_for(const struct inject *i, struct world *w, uint64_t elapsed_ns, double ratio)
{
    enum { RANKS = 1 << 16 };
    double times = 1 / ratio;

    if (i->noise_ratio > 0)
        times *= 1 + i->noise_ratio * fabs(rng_normal(i->seed, RNG_NOISE, world_now_ns(w) * RANKS + (uint64_t)w->rank));
    if (times > 1)
        world_pause(w, (uint64_t)((double)elapsed_ns * (times - 1) + 0.5));
}

void inject_after_compute(const struct inject *i, struct world *w, uint64_t elapsed_ns)
{
    double ratio = 1;

    if (!i) /* accept.N1 */
        return;
    for (int k = 0; k < i->n_faults; k++)
        if (i->fault[k].kind == FAULT_SLOW_RANK && i->fault[k].a == w->rank)
            ratio = i->fault[k].ratio < ratio ? i->fault[k].ratio : ratio;
    pause_for(i, w, elapsed_ns, ratio);
}

static bool is_on_way(const struct fault *f, int from, int to)
{
    if (f->kind == FAULT_SLOW_NODE)
        return f->a == from || f->a == to;
    return f->kind == FAULT_SLOW_LINK && ((f->a == from && f->b == to) || (f->both_ways && f->a == to && f->b == from));
}

/* Of several faults on the way the slowest counts, as of links in a row. */
void inject_after_receive(const struct inject *i, struct world *w, int from, int to, uint64_t elapsed_ns)
{
    double ratio = 1;

    if (!i || from == to) /* accept.N1; what stays on a node crosses none of its links */
        return;
    for (int k = 0; k < i->n_faults; k++)
        if (is_on_way(&i->fault[k], from, to))
            ratio = i->fault[k].ratio < ratio ? i->fault[k].ratio : ratio;
    pause_for(i, w, elapsed_ns, ratio);
}

bool inject_has_slow_links(const struct inject *i)
{
    for (int k = 0; i && k < i->n_faults; k++)
        if (i->fault[k].kind == FAULT_SLOW_NODE || i->fault[k].kind == FAULT_SLOW_LINK)
            return true;
    return false;
}

bool inject_has_losses(const struct inject *i)
{
    for (int k = 0; i && k < i->n_faults; k++)
        if (i->fault[k].kind == FAULT_LOSS)
            return true;
    return false;
}

void inject_after_message(const struct inject *i, struct world *w, int from, int to)
{
    enum { RANKS = 1 << 16, RETRANSMIT_NS = 200000000 };
    double ratio = 0;

    for (int k = 0; i && k < i->n_faults; k++) {
        const struct fault *f = &i->fault[k];
        if (f->kind == FAULT_LOSS && (f->a == from || f->a == to) && f->ratio > ratio)
            ratio = f->ratio;
    }
    if (ratio > 0 && rng_uniform(i->seed, RNG_LOSS, world_now_ns(w) * RANKS + (uint64_t)w->rank) < ratio)
        world_pause(w, RETRANSMIT_NS);
}

const struct fault *inject_loss(const struct inject *i, int rank, enum accept_stage stage)
{
    for (int k = 0; i && k < i->n_faults; k++) {
        const struct fault *f = &i->fault[k];
        if ((f->kind == FAULT_STALL || f->kind == FAULT_KILL) && f->a == rank && f->stage == stage)
            return f;
    }
    return NULL;
}

void inject_now(const struct inject *i, struct world *w, enum accept_stage stage)
{
    const struct fault *f = inject_loss(i, w->rank, stage);

    if (f && f->kind == FAULT_STALL)
        world_hang(w);
    else if (f)
        world_die(w);
}

const struct fault *inject_flip(const struct inject *i, int rank)
{
    for (int k = 0; i && k < i->n_faults; k++)
        if (i->fault[k].kind == FAULT_FLIP && i->fault[k].a == rank)
            return &i->fault[k];
    return NULL;
}
