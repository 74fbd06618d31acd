/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - mapped memory handed out in aligned pieces. */
#include "harness/base/arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/base/host_memory.h"

enum { TICK_BYTES = 16 << 20 };

static void ask_for_huge_pages(void *memory, size_t n_bytes)
{
    (void)madvise(memory, n_bytes, MADV_HUGEPAGE); /* advice: without huge pages it is slower, not wrong */
}

void *huge_alloc(size_t n_bytes)
{
    const size_t align_bytes = n_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : ARENA_ALIGN_BYTES;
    const size_t n_whole_bytes = (n_bytes + align_bytes - 1) / align_bytes * align_bytes;
    void *memory = aligned_alloc(align_bytes, n_whole_bytes);

    if (memory && align_bytes == HUGE_PAGE_BYTES)
        ask_for_huge_pages(memory, n_whole_bytes);
    return memory;
}

size_t arena_floats_bytes(size_t n_elems)
{
    return (n_elems * sizeof(float) + ARENA_ALIGN_BYTES - 1) / ARENA_ALIGN_BYTES * ARENA_ALIGN_BYTES;
}

/* Zero is what they hold already: every page is there afterwards. */
static void touch(unsigned char *bytes, size_t n_bytes, void (*tick)(void *arg), void *arg)
{
    for (size_t i = 0; i < n_bytes; i += TICK_BYTES) {
        if (tick)
            tick(arg);
        memset(bytes + i, 0, n_bytes - i < TICK_BYTES ? n_bytes - i : TICK_BYTES);
    }
}

/* LeakSanitizer does not follow mapped memory: a block of malloc() stands for each arena. */
static void *trace(void)
{
#ifdef __SANITIZE_ADDRESS__
    return malloc(1);
#else
    return NULL;
#endif
}

enum rc arena_open(struct arena *out, size_t n_bytes)
{
    return arena_open_ticking(out, n_bytes, NULL, NULL);
}

enum rc arena_open_ticking(struct arena *out, size_t n_bytes, void (*tick)(void *arg), void *arg)
{
    const bool huge = n_bytes >= HUGE_PAGE_BYTES;
    const size_t n_mapped_bytes = huge ? n_bytes + HUGE_PAGE_BYTES : n_bytes;

    *out = (struct arena){ 0 };
    if (n_bytes == 0)
        return RC_OK;
    void *map = mmap(NULL, n_mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return rc_raise(RC_NOMEM, "cannot map %zu bytes", n_mapped_bytes);
    if (huge)
        ask_for_huge_pages(map, n_mapped_bytes);
    touch(map, n_mapped_bytes, tick, arg);
    *out = (struct arena){ .base = map, .n_bytes = n_bytes, .n_mapped_bytes = n_mapped_bytes, .traced = trace() };
    if (huge) { /* begin on a huge page: the first one is then whole */
        const size_t n_over_bytes = (uintptr_t)map % HUGE_PAGE_BYTES;
        out->n_used_bytes = n_over_bytes ? HUGE_PAGE_BYTES - n_over_bytes : 0;
        out->n_bytes = n_bytes + out->n_used_bytes;
    }
    return RC_OK;
}

float *arena_floats(struct arena *a, size_t n_elems)
{
    const size_t n_bytes = arena_floats_bytes(n_elems);

    assert(a->n_used_bytes + n_bytes <= a->n_bytes);
    float *piece = (float *)(void *)(a->base + a->n_used_bytes);
    a->n_used_bytes += n_bytes;
    return piece;
}

void arena_close(struct arena *a)
{
    if (a->base)
        (void)munmap(a->base, a->n_mapped_bytes); /* can't fail: the arguments are mmap's own */
    free(a->traced);
    *a = (struct arena){ 0 };
}
