/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_pack.c - rings of one rank into bytes, and back on another rank, which checks all it reads (report.L6). */
#include "harness/report/timeline_pack.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct timeline_head) % 8 == 0 && sizeof(struct timeline_task) % 8 == 0 &&
                   sizeof(struct timeline_name) % 8 == 0 && sizeof(struct timeline_span) == 56,
               "no padding, and spans that a malloc()ed block aligns");

/* report.L3: the spans around the one that comes next. */
struct nesting {
    int depth;
    uint64_t start_ns;                   /* of the last one */
    uint64_t end_ns[TIMELINE_MAX_DEPTH]; /* outermost first */
};

/* Take the next span of a task; NULL, or what is wrong with it. */
static const char *nesting_next(struct nesting *n, const struct timeline_span *s)
{
    if (s->start_ns > s->end_ns)
        return "ends before it starts";
    if (s->submitted_ns > s->start_ns)
        return "was submitted after it started";
    if (s->start_ns < n->start_ns)
        return "is out of order";
    n->start_ns = s->start_ns;
    while (n->depth > 0 && n->end_ns[n->depth - 1] <= s->start_ns)
        n->depth--;
    if (n->depth > 0 && n->end_ns[n->depth - 1] < s->end_ns)
        return "overlaps another one in part";
    if (n->depth == TIMELINE_MAX_DEPTH)
        return "is inside too many others";
    n->end_ns[n->depth++] = s->end_ns;
    return NULL;
}

/* --- packing ---------------------------------------------------------------------------------------------------------
 */

struct packing {
    unsigned char *bytes;
    struct timeline_head head;
    const char *name[TIMELINE_MAX_NAMES];
};

static struct span_ring *find_task(const struct timeline_source *from, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (from->ring[i] && strcmp(span_ring_name(from->ring[i]), name) == 0)
            return from->ring[i];
    return NULL;
}

/* The index of a name, added where it is new. Most names are met again as the same pointer. */
static enum rc find_name(struct packing *p, const char *name, uint32_t *out)
{
    struct timeline_head *h = &p->head;
    uint32_t i = 0;

    while (i < h->n_names && p->name[i] != name)
        i++;
    for (i = i < h->n_names ? i : 0; i < h->n_names && p->name[i] != name && strcmp(p->name[i], name) != 0;)
        i++;
    if (i == TIMELINE_MAX_NAMES)
        return rc_raise(RC_BUG, "rank %d: span %s has one name too many for a timeline", (int)h->rank, name);
    if (i == h->n_names) {
        if (strlen(name) >= SPAN_NAME_BYTES)
            return rc_raise(RC_BUG, "rank %d: the name of span %s is too long", (int)h->rank, name);
        p->name[h->n_names++] = name;
    }
    *out = i;
    return RC_OK;
}

/* Count what will be packed: sizes depend on it. */
static enum rc survey(struct packing *p, const struct timeline_source *from)
{
    uint32_t unused;
    enum rc rc = RC_OK;

    p->head = (struct timeline_head){ .magic = TIMELINE_MAGIC, .rank = from->rank };
    snprintf(p->head.process, sizeof p->head.process, "rank %d%s%s%s%s%s", from->rank, from->role ? ", " : "",
             from->role ? from->role : "", from->host ? " (" : "", from->host ? from->host : "", from->host ? ")" : "");
    for (size_t i = 0; i < from->n_rings; i++) {
        const struct span_ring *ring = from->ring[i];

        if (!ring)
            continue;
        if (strlen(span_ring_name(ring)) >= SPAN_NAME_BYTES)
            FAIL(RC_BUG, "rank %d: the name of task %s is too long", from->rank, span_ring_name(ring));
        if (find_task(from, i, span_ring_name(ring)))
            FAIL(RC_BUG, "rank %d: two tasks are called %s", from->rank, span_ring_name(ring));
        for (uint64_t k = span_ring_n_lost(ring); k < span_ring_n_added(ring); k++)
            TRY(find_name(p, span_ring_get(ring, k)->what, &unused));
        p->head.n_spans += span_ring_n_added(ring) - span_ring_n_lost(ring);
        p->head.n_tasks++;
    }
    if (p->head.n_spans > UINT32_MAX)
        FAIL(RC_INVAL, "rank %d: %" PRIu64 " spans are too many for a timeline", from->rank, p->head.n_spans);
out:
    return rc;
}

static size_t spans_offset_bytes(const struct timeline_head *h)
{
    return sizeof *h + h->n_tasks * sizeof(struct timeline_task) + h->n_names * sizeof(struct timeline_name);
}

/* report.L3. Of equal spans the one that was added last is around the other. */
static int by_start(const void *a, const void *b)
{
    const struct timeline_span *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->order > y->order ? -1 : x->order < y->order;
}

static enum rc pack_ring(struct packing *p, struct timeline_span *to, const struct span_ring *ring, struct world *w)
{
    const uint64_t n_lost = span_ring_n_lost(ring);
    const size_t n_spans = (size_t)(span_ring_n_added(ring) - n_lost);
    struct nesting nesting = { 0 };
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_spans; i++) {
        const struct span *s = span_ring_get(ring, n_lost + i);

        timeline_tick(w, i);
        to[i] = (struct timeline_span){ .start_ns = s->start_ns,
                                        .end_ns = s->end_ns,
                                        .n_bytes = s->n_bytes,
                                        .submitted_ns = s->submitted_ns,
                                        .segment = s->segment,
                                        .chunk = s->chunk,
                                        .step = s->step,
                                        .order = (uint32_t)i };
        TRY(find_name(p, s->what, &to[i].name));
    }
    qsort(to, n_spans, sizeof *to, by_start);
    for (size_t i = 0; i < n_spans; i++) {
        const char *wrong = nesting_next(&nesting, &to[i]);

        timeline_tick(w, i);
        if (wrong)
            FAIL(RC_BUG, "rank %d, task %s, step %" PRIu32 ": span %s, %" PRIu64 " ns to %" PRIu64 " ns, %s",
                 (int)p->head.rank, span_ring_name(ring), to[i].step, p->name[to[i].name], to[i].start_ns, to[i].end_ns,
                 wrong);
    }
out:
    return rc;
}

enum rc timeline_pack(void **out, size_t *n_bytes, const struct timeline_source *from)
{
    struct packing p = { 0 };
    size_t n_all_bytes;
    enum rc rc;

    TRY(survey(&p, from));
    n_all_bytes = spans_offset_bytes(&p.head) + (size_t)p.head.n_spans * sizeof(struct timeline_span);
    p.bytes = calloc(1, n_all_bytes);
    if (!p.bytes)
        FAIL(RC_NOMEM, "no memory for the %" PRIu64 " spans of rank %d", p.head.n_spans, from->rank);
    memcpy(p.bytes, &p.head, sizeof p.head);
    struct timeline_task *task = (void *)(p.bytes + sizeof p.head);
    struct timeline_name *name = (void *)(task + p.head.n_tasks);
    struct timeline_span *span = (void *)(name + p.head.n_names);
    for (uint32_t i = 0; i < p.head.n_names; i++)
        snprintf(name[i].text, sizeof name[i].text, "%s", p.name[i]);
    for (size_t i = 0; i < from->n_rings; i++) {
        const struct span_ring *ring = from->ring[i];

        if (!ring)
            continue;
        task->n_lost = span_ring_n_lost(ring);
        task->n_spans = span_ring_n_added(ring) - task->n_lost;
        snprintf(task->name, sizeof task->name, "%s", span_ring_name(ring));
        TRY(pack_ring(&p, span, ring, from->world));
        span += task->n_spans;
        task++;
    }
    *out = p.bytes;
    *n_bytes = n_all_bytes;
    p.bytes = NULL;
out:
    free(p.bytes);
    return rc;
}

/* --- unpacking -------------------------------------------------------------------------------------------------------
 */

static void copy_from(void *to, const struct timeline_rank *r, size_t offset_bytes, uint64_t i, size_t n_each_bytes)
{
    memcpy(to, r->bytes + offset_bytes + (size_t)i * n_each_bytes, n_each_bytes);
}

struct timeline_task timeline_task_at(const struct timeline_rank *r, uint32_t i)
{
    struct timeline_task task;

    assert(i < r->n_tasks);
    copy_from(&task, r, sizeof(struct timeline_head), i, sizeof task);
    return task;
}

struct timeline_name timeline_name_at(const struct timeline_rank *r, uint32_t i)
{
    struct timeline_name name;

    assert(i < r->n_names);
    copy_from(&name, r, sizeof(struct timeline_head) + r->n_tasks * sizeof(struct timeline_task), i, sizeof name);
    return name;
}

struct timeline_span timeline_span_at(const struct timeline_rank *r, uint64_t i)
{
    const struct timeline_head counts = { .n_tasks = r->n_tasks, .n_names = r->n_names };
    struct timeline_span span;

    assert(i < r->n_spans);
    copy_from(&span, r, spans_offset_bytes(&counts), i, sizeof span);
    return span;
}

const char *timeline_process(const struct timeline_rank *r)
{
    return (const char *)r->bytes + offsetof(struct timeline_head, process);
}

static bool has_end(const char *text, size_t n_bytes)
{
    return memchr(text, '\0', n_bytes) != NULL;
}

/* The head, and that the bytes are as many as it says; NULL, or what is wrong. */
static const char *check_head(struct timeline_rank *out, const unsigned char *bytes, size_t n_bytes, int rank)
{
    struct timeline_head h;

    if (n_bytes < sizeof h)
        return "it is too short";
    memcpy(&h, bytes, sizeof h);
    if (h.magic != TIMELINE_MAGIC)
        return "it is no timeline of this program";
    if (h.rank != rank)
        return "it is another rank's";
    if (!has_end(h.process, sizeof h.process))
        return "its name has no end";
    if (h.n_tasks > n_bytes / sizeof(struct timeline_task) || h.n_names > TIMELINE_MAX_NAMES ||
        h.n_spans > n_bytes / sizeof(struct timeline_span) ||
        n_bytes != spans_offset_bytes(&h) + (size_t)h.n_spans * sizeof(struct timeline_span))
        return "its size is wrong";
    *out = (struct timeline_rank){ bytes, rank, h.n_tasks, h.n_names, h.n_spans };
    return NULL;
}

static const char *check_spans(const struct timeline_rank *r, uint64_t first, uint64_t n_spans)
{
    struct nesting nesting = { 0 };

    for (uint64_t i = first; i < first + n_spans; i++) {
        const struct timeline_span s = timeline_span_at(r, i);
        const char *wrong = s.name < r->n_names ? nesting_next(&nesting, &s) : "has no name";

        if (wrong)
            return wrong;
    }
    return NULL;
}

enum rc timeline_unpack(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank)
{
    struct timeline_rank r;
    uint64_t n_spans = 0;
    const char *wrong = check_head(&r, bytes, n_bytes, rank);

    if (wrong)
        return rc_raise(RC_MISMATCH, "the timeline of rank %d cannot be read: %s", rank, wrong);
    for (uint32_t i = 0; i < r.n_names && !wrong; i++)
        wrong = has_end(timeline_name_at(&r, i).text, SPAN_NAME_BYTES) ? NULL : "the name of a span has no end";
    for (uint32_t i = 0; i < r.n_tasks && !wrong; i++) {
        const struct timeline_task task = timeline_task_at(&r, i);

        if (!has_end(task.name, sizeof task.name))
            wrong = "the name of a task has no end";
        else if (task.n_spans > r.n_spans - n_spans)
            wrong = "a task has more spans than there are";
        else
            wrong = check_spans(&r, n_spans, task.n_spans);
        n_spans += task.n_spans;
    }
    if (wrong || n_spans != r.n_spans)
        return rc_raise(RC_MISMATCH, "the timeline of rank %d cannot be read: %s", rank,
                        wrong ? wrong : "spans belong to no task");
    *out = r;
    return RC_OK;
}
