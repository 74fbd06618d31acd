/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - a layout, WxSxK: W workers, each a pipeline of S stages; see layout.h. */
#include "harness/train/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "models/engine/network_shard.h"

enum { PARTS_PER_STAGE = 4 };

/* A number of 1 to LAYOUT_MOST at *text, which moves behind it and the letter that follows. */
static bool take_number(int *out, const char **text, char next)
{
    char *end;

    if (**text < '1' || **text > '9')
        return false;
    const unsigned long n = strtoul(*text, &end, 10);
    if (n > LAYOUT_MOST || *end != next)
        return false;
    *out = (int)n;
    *text = next != '\0' ? end + 1 : end;
    return true;
}

enum rc layout_parse(struct layout *out, const char *text)
{
    const char *at = text;
    char fitting[48];
    struct layout l;

    if (!take_number(&l.n_workers, &at, 'x') || !take_number(&l.n_stages, &at, 'x') ||
        !take_number(&l.n_shards, &at, '\0'))
        return rc_raise(RC_INVAL, "--layout %.40s: is not WxSxK, workers x stages x shards, as in 4x1x1 or 2x2x1",
                        text);
    if (l.n_stages > NETWORK_MAX_STAGES)
        return rc_raise(RC_INVAL, "--layout %.40s: has %d stages; use %d at most", text, l.n_stages,
                        (int)NETWORK_MAX_STAGES);
    text_near_divisors(fitting, sizeof fitting, (uint64_t)l.n_shards, (uint64_t)l.n_workers);
    if (l.n_workers % l.n_shards != 0)
        return rc_raise(RC_INVAL, "--layout %.40s: %d shards are to be shared out among %d workers; use %s shard%s",
                        text, l.n_shards, l.n_workers, fitting, strcmp(fitting, "1") == 0 ? "" : "s");
    if (l.n_shards > NETWORK_MAX_SHARDS)
        return rc_raise(RC_INVAL, "--layout %.40s: has %d shards; use %d at most", text, l.n_shards,
                        (int)NETWORK_MAX_SHARDS);
    *out = l;
    return RC_OK;
}

void layout_text(char out[LAYOUT_TEXT_BYTES], const struct layout *l)
{
    snprintf(out, LAYOUT_TEXT_BYTES, "%dx%dx%d", l->n_workers, l->n_stages, l->n_shards);
}

int layout_n_ranks(const struct layout *l)
{
    return l->n_workers * l->n_stages;
}

uint64_t layout_n_micro_batches(uint64_t batch, int n_stages)
{
    uint64_t n = (uint64_t)PARTS_PER_STAGE * (uint64_t)n_stages;

    if (n_stages == 1)
        return 1;
    while (batch % n != 0)
        n--;
    return n;
}

void layout_choices(char out[LAYOUT_CHOICE_BYTES], int n_ranks)
{
    int n_left = 0;
    size_t n = 0;

    out[0] = '\0';
    for (int S = 1; S <= n_ranks && S <= NETWORK_MAX_STAGES; S++)
        n_left += n_ranks % S == 0;
    for (int S = 1; S <= n_ranks && S <= NETWORK_MAX_STAGES && n < LAYOUT_CHOICE_BYTES; S++) {
        if (n_ranks % S != 0)
            continue;
        n += (size_t)snprintf(out + n, LAYOUT_CHOICE_BYTES - n, "%dx%dx1%s", n_ranks / S, S,
                              n_left > 2    ? ", "
                              : n_left == 2 ? " or "
                                            : "");
        n_left--;
    }
}

enum rc layout_apply(struct train_opts *opts, const char *text, const struct opt_group *group, int n_groups,
                     int n_launched)
{
    const struct sync_mode *mode = NULL;
    char fitting[LAYOUT_CHOICE_BYTES];
    struct layout l;
    enum rc rc = RC_OK;

    if (text[0] == '\0')
        return RC_OK;
    TRY(layout_parse(&l, text));
    if (opt_given(group, n_groups, "workers") && opts->workers != (uint64_t)l.n_workers)
        FAIL(RC_INVAL, "--layout %s: has %d workers, and --workers %llu is given; leave out one of the two", text,
             l.n_workers, (unsigned long long)opts->workers);
    if (opt_given(group, n_groups, "stages") && opts->stages != (uint64_t)l.n_stages)
        FAIL(RC_INVAL, "--layout %s: has %d stages, and --stages %llu is given; leave out one of the two", text,
             l.n_stages, (unsigned long long)opts->stages);
    if (opt_given(group, n_groups, "shard-dense") && opts->shard_dense != (uint64_t)l.n_shards)
        FAIL(RC_INVAL, "--layout %s: has %d shards, and --shard-dense %llu is given; leave out one of the two", text,
             l.n_shards, (unsigned long long)opts->shard_dense);
    for (int i = 0; train_mode_at(i); i++)
        if (strcmp(train_mode_at(i)->module.name, opts->mode) == 0)
            mode = train_mode_at(i);
    layout_choices(fitting, n_launched);
    if (n_launched > 0 && mode && !(mode->module.caps & MODE_SERVERS) && layout_n_ranks(&l) != n_launched)
        FAIL(RC_INVAL, "--layout %s: is %d ranks, and %d were launched; %s would fit", text, layout_n_ranks(&l),
             n_launched, fitting);
    opts->workers = (uint64_t)l.n_workers;
    opts->stages = (uint64_t)l.n_stages;
    opts->shard_dense = (uint64_t)l.n_shards;
out:
    return rc;
}
