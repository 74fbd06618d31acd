/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - the parameters are cut in ascending order, and each cut goes to a server, twice: to count, to keep. */
#include "harness/exchange/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"

/* --- the option --- */

static const char *const names[] = { [PLACEMENT_SPLIT] = "split",
                                     [PLACEMENT_WHOLE] = "whole",
                                     [PLACEMENT_ROUND_ROBIN] = "round-robin",
                                     [PLACEMENT_CHUNK] = "chunk:BYTES",
                                     NULL };

static enum rc parse_chunk(struct placement_opts *out, const char *text, const char *bytes)
{
    struct placement_opts o = { .kind = PLACEMENT_CHUNK };
    char fitting[48];

    if (!text_to_u64(bytes, &o.chunk_bytes))
        o.chunk_bytes = 0;
    text_near_multiples(fitting, sizeof fitting, o.chunk_bytes, sizeof(float));
    if (o.chunk_bytes == 0 || o.chunk_bytes % sizeof(float) != 0)
        return rc_raise(RC_INVAL,
                        "--placement %s: BYTES of chunk:BYTES must be a multiple of %zu, a parameter's bytes, such as "
                        "%s",
                        text, sizeof(float), fitting);
    *out = o;
    return RC_OK;
}

enum rc placement_parse(struct placement_opts *out, const char *text)
{
    if (strncmp(text, "chunk:", 6) == 0)
        return parse_chunk(out, text, text + 6);
    for (int i = 0; i < PLACEMENT_CHUNK; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (struct placement_opts){ .kind = (enum placement_kind)i };
            return RC_OK;
        }
    const char *nearest = text_nearest(text, names);
    return rc_raise(RC_INVAL, "--placement %s: must be split, whole, round-robin or chunk:BYTES%s%s%s", text,
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

void placement_text(char *out, size_t n_bytes, const struct placement_opts *opts)
{
    if (opts->kind == PLACEMENT_CHUNK)
        snprintf(out, n_bytes, "chunk:%llu", (unsigned long long)opts->chunk_bytes);
    else
        snprintf(out, n_bytes, "%s", names[opts->kind]);
}

/* --- cutting --- */

struct cutter { /* the cuts go here one after the other */
    struct placement *p;
    size_t *n_ranges; /* [n_servers]: so far */
    size_t *end;      /* [n_servers]: behind the last parameter so far */
    bool keeps;       /* else they are counted */
};

/* The next parameters go to server s. exchange.G3: a neighbour of its last range becomes part of it. */
static void cut(struct cutter *c, int s, struct range part)
{
    struct placement *p = c->p;
    const bool is_neighbour = c->n_ranges[s] > 0 && c->end[s] == part.offset_elems;

    if (part.n_elems == 0)
        return;
    if (!is_neighbour)
        c->n_ranges[s]++;
    if (c->keeps) {
        struct placed_range *r = &p->range[p->first_range[s] + c->n_ranges[s] - 1];
        if (!is_neighbour)
            *r = (struct placed_range){ { part.offset_elems, 0 }, p->n_elems[s] };
        r->range.n_elems += part.n_elems;
        p->n_elems[s] += part.n_elems;
    }
    c->end[s] = part.offset_elems + part.n_elems;
}

static int emptiest(const size_t *n_elems, int n)
{
    int least = 0;

    for (int s = 1; s < n; s++)
        if (n_elems[s] < n_elems[least])
            least = s;
    return least;
}

/* load[n_servers]: zeros, for elements so far. */
static void cut_tensors(struct cutter *c, size_t *load, const struct segment *segment, size_t n_segments)
{
    const int n_servers = c->p->n_servers;

    for (size_t i = 0; i < n_segments; i++) {
        const int s = c->p->opts.kind == PLACEMENT_WHOLE ? emptiest(load, n_servers) : (int)(i % (size_t)n_servers);
        load[s] += segment[i].n_elems;
        cut(c, s, (struct range){ segment[i].offset_elems, segment[i].n_elems });
    }
}

static void cut_all(struct cutter *c, size_t *load, const struct segment *segment, size_t n_segments)
{
    const size_t n_params = c->p->n_params, n_chunk = c->p->opts.chunk_bytes / sizeof(float);
    const int n_servers = c->p->n_servers;

    switch (c->p->opts.kind) {
    case PLACEMENT_SPLIT:
        for (int s = 0; s < n_servers; s++)
            cut(c, s, range_part(n_params, n_servers, s));
        break;
    case PLACEMENT_CHUNK:
        for (size_t i = 0, at = 0; at < n_params; i++, at += n_chunk)
            cut(c, (int)(i % (size_t)n_servers),
                (struct range){ at, n_params - at < n_chunk ? n_params - at : n_chunk });
        break;
    case PLACEMENT_WHOLE:
    case PLACEMENT_ROUND_ROBIN:
        cut_tensors(c, load, segment, n_segments);
        break;
    }
}

/* --- open, close --- */

/* Before anything is allocated. */
static enum rc check(const struct placement *p, size_t n_segments)
{
    const size_t n_chunk = p->opts.chunk_bytes / sizeof(float);
    const size_t n_chunks = n_chunk > 0 ? (p->n_params + n_chunk - 1) / n_chunk : 0;
    const bool is_chunk = p->opts.kind == PLACEMENT_CHUNK, is_split = p->opts.kind == PLACEMENT_SPLIT;
    const size_t n_cuts = is_chunk ? n_chunks : n_segments;

    if (is_chunk && n_chunks > PLACEMENT_MAX_RANGES)
        return rc_raise(RC_INVAL,
                        "--placement chunk:%llu: cuts %zu parameters into %zu pieces; give at least %zu bytes",
                        (unsigned long long)p->opts.chunk_bytes, p->n_params, n_chunks,
                        (p->n_params / PLACEMENT_MAX_RANGES + 1) * sizeof(float));
    if (!is_split && n_cuts < (size_t)p->n_servers)
        return rc_raise(RC_INVAL,
                        "--servers %d: --placement %s has only %zu %s%s to share out; give --servers %zu at most",
                        p->n_servers, is_chunk ? "chunk" : names[p->opts.kind], n_cuts, is_chunk ? "chunk" : "tensor",
                        n_cuts == 1 ? "" : "s", n_cuts);
    return RC_OK;
}

static enum rc allocate_ranges(struct placement *p, const size_t *n_ranges)
{
    for (int s = 0; s < p->n_servers; s++)
        p->first_range[s + 1] = p->first_range[s] + n_ranges[s];
    p->range = malloc((p->first_range[p->n_servers] + 1) * sizeof *p->range);
    return p->range ? RC_OK : rc_raise(RC_NOMEM, "no memory for the placement of %zu parameters", p->n_params);
}

static size_t n_elems_of(const struct segment *segment, size_t n_segments)
{
    size_t n = 0;

    for (size_t i = 0; i < n_segments; i++)
        n += segment[i].n_elems;
    return n;
}

enum rc placement_open(struct placement *out, const struct placement_opts *opts, const struct segment *segment,
                       size_t n_segments, int n_servers)
{
    const size_t n = (size_t)n_servers;
    struct placement p = { *opts, n_elems_of(segment, n_segments), n_servers, NULL, NULL, NULL };
    size_t *scratch = calloc(3 * n + 1, sizeof *scratch), *load = scratch;
    enum rc rc;

    p.first_range = calloc(n + 1, sizeof *p.first_range);
    p.n_elems = calloc(n + 1, sizeof *p.n_elems);
    if (!scratch || !p.first_range || !p.n_elems)
        FAIL(RC_NOMEM, "no memory for the placement on %d servers", n_servers);
    TRY(check(&p, n_segments));
    struct cutter c = { &p, scratch + n, scratch + 2 * n, false };
    if (n_servers > 0)
        cut_all(&c, load, segment, n_segments);
    TRY(allocate_ranges(&p, c.n_ranges));
    memset(scratch, 0, 3 * n * sizeof *scratch);
    c.keeps = true;
    if (n_servers > 0)
        cut_all(&c, load, segment, n_segments);
    *out = p;
    p = (struct placement){ 0 };
out:
    free(scratch);
    placement_close(&p);
    return rc;
}

void placement_close(struct placement *p)
{
    free(p->range);
    free(p->first_range);
    free(p->n_elems);
    *p = (struct placement){ 0 };
}

/* --- questions --- */

/* The first range of server s that ends behind `offset` of the parameters; of none the one behind its last. */
static const struct placed_range *range_behind(const struct placement *p, int s, size_t offset)
{
    size_t low = p->first_range[s], high = p->first_range[s + 1];

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->range[middle].range.offset_elems + p->range[middle].range.n_elems > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return &p->range[low];
}

/* How many elements of the slice of server s are of parameters before `offset`. */
static size_t n_before(const struct placement *p, int s, size_t offset)
{
    const struct placed_range *r = range_behind(p, s, offset);

    if (r == p->range + p->first_range[s + 1])
        return p->n_elems[s];
    return r->offset_elems + (offset > r->range.offset_elems ? offset - r->range.offset_elems : 0);
}

struct range placement_part(const struct placement *p, int s, struct range part)
{
    const size_t begin = n_before(p, s, part.offset_elems);

    return (struct range){ begin, n_before(p, s, part.offset_elems + part.n_elems) - begin };
}

/* The range with element `offset` of the slice of server s, which has it. */
static const struct placed_range *range_with(const struct placement *p, int s, size_t offset)
{
    size_t low = p->first_range[s], high = p->first_range[s + 1];

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (p->range[middle].offset_elems <= offset)
            low = middle;
        else
            high = middle;
    }
    return &p->range[low];
}

bool placement_is_range(const struct placement *p, int s, struct range in_slice, size_t *first)
{
    const struct placed_range *r = range_with(p, s, in_slice.offset_elems);
    const size_t n_behind = in_slice.offset_elems - r->offset_elems;

    if (n_behind + in_slice.n_elems > r->range.n_elems)
        return false;
    *first = r->range.offset_elems + n_behind;
    return true;
}

/* The next stretch of in_slice that is one range of the parameters: cut off in_slice, which is not empty. */
static struct range take_stretch(const struct placed_range **r, struct range *in_slice)
{
    const size_t n_behind = in_slice->offset_elems - (*r)->offset_elems, n_left = (*r)->range.n_elems - n_behind;
    const struct range stretch = { (*r)->range.offset_elems + n_behind,
                                   in_slice->n_elems < n_left ? in_slice->n_elems : n_left };

    in_slice->offset_elems += stretch.n_elems;
    in_slice->n_elems -= stretch.n_elems;
    ++*r;
    return stretch;
}

void placement_gather(const struct placement *p, int s, struct range in_slice, float *slice_part, const float *from,
                      size_t first)
{
    const struct placed_range *r = in_slice.n_elems > 0 ? range_with(p, s, in_slice.offset_elems) : NULL;

    while (in_slice.n_elems > 0) {
        const struct range stretch = take_stretch(&r, &in_slice);
        memcpy(slice_part, from + (stretch.offset_elems - first), stretch.n_elems * sizeof *from);
        slice_part += stretch.n_elems;
    }
}

void placement_scatter(const struct placement *p, int s, struct range in_slice, const float *slice_part, float *all)
{
    const struct placed_range *r = in_slice.n_elems > 0 ? range_with(p, s, in_slice.offset_elems) : NULL;

    while (in_slice.n_elems > 0) {
        const struct range to = take_stretch(&r, &in_slice);
        memcpy(all + to.offset_elems, slice_part, to.n_elems * sizeof *all);
        slice_part += to.n_elems;
    }
}

bool placement_is_scattered(const struct placement *p)
{
    for (int s = 0; s < p->n_servers; s++)
        if (p->first_range[s + 1] - p->first_range[s] > 1)
            return true;
    return false;
}

size_t placement_most_elems(const struct placement *p)
{
    size_t n = 0;

    for (int s = 0; s < p->n_servers; s++)
        n = p->n_elems[s] > n ? p->n_elems[s] : n;
    return n;
}

struct hot_spot placement_hot_spot(const struct placement *p, const struct segment *segment, size_t n_segments)
{
    struct hot_spot hot = { 0 };

    hot.n_elems = placement_most_elems(p);
    while (p->n_elems[hot.server] < hot.n_elems)
        hot.server++;
    hot.imbalance_ratio = (double)hot.n_elems * p->n_servers / (double)p->n_params;
    for (size_t i = 0; i < n_segments; i++) {
        const struct range tensor = { segment[i].offset_elems, segment[i].n_elems };
        const size_t n_there = placement_part(p, hot.server, tensor).n_elems;
        if (n_there > hot.n_segment_elems) {
            hot.segment = i;
            hot.n_segment_elems = n_there;
        }
    }
    return hot;
}

static uint64_t mix(uint64_t h, uint64_t value) /* FNV-1a, by 64 bits */
{
    return (h ^ value) * UINT64_C(0x100000001b3);
}

uint64_t placement_digest(const struct placement *p)
{
    uint64_t h = mix(UINT64_C(0xcbf29ce484222325), (uint64_t)p->n_servers);

    for (int s = 0; s < p->n_servers; s++)
        for (size_t i = p->first_range[s]; i < p->first_range[s + 1]; i++)
            h = mix(mix(mix(h, (uint64_t)s), p->range[i].range.offset_elems), p->range[i].range.n_elems);
    return h;
}
