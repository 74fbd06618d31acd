/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - a binary heap over the workers' next completions. */
#include "harness/measure/merge.h"

#include <stdlib.h>

static bool earlier(const struct merge_cursor *a, const struct merge_cursor *b)
{
    return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->worker < b->worker;
}

static void sift_down(struct merge *m, size_t i)
{
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->n_live; child++)
            if (earlier(&m->heap[child], &m->heap[least]))
                least = child;
        if (least == i)
            return;
        struct merge_cursor moved = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = moved;
        i = least;
    }
}

enum rc merge_init(struct merge *m, const struct steps *in)
{
    *m = (struct merge){ .in = in, .n_live = in->n_steps ? in->n_workers : 0 };
    m->heap = malloc(in->n_workers * sizeof *m->heap + 1);
    if (!m->heap)
        return rc_raise(RC_NOMEM, "no memory to order the steps of %zu workers", in->n_workers);
    for (size_t w = 0; w < m->n_live; w++)
        m->heap[w] = (struct merge_cursor){ in->stamp[w * in->n_steps].end_ns, w, 0 };
    for (size_t i = m->n_live; i-- > 0;)
        sift_down(m, i);
    return RC_OK;
}

bool merge_next(struct merge *m, struct merge_cursor *out)
{
    if (m->n_live == 0)
        return false;
    struct merge_cursor *top = &m->heap[0];
    *out = *top;
    if (++top->step < m->in->n_steps)
        top->end_ns = m->in->stamp[top->worker * m->in->n_steps + top->step].end_ns;
    else
        *top = m->heap[--m->n_live];
    sift_down(m, 0);
    return true;
}

void merge_fini(struct merge *m)
{
    free(m->heap);
    *m = (struct merge){ 0 };
}
