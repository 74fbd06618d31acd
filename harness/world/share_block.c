/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_block.c - mappings, as Linux gives them.
 *
 * MADV_POPULATE_WRITE (Linux 5.14) returns an error where a plain access would end the process with SIGBUS, and lets
 * the pages be huge ones. An older kernel reserves by fallocate(), whose pages of a memfd are always small.
 */
#include "harness/world/share_block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

size_t share_round_up(size_t n_bytes, size_t step)
{
    return n_bytes > SIZE_MAX - (step - 1) ? 0 : (n_bytes + step - 1) & ~(step - 1);
}

size_t share_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE); /* can't fail: POSIX has it */
}

/* Addresses for n_bytes on a huge page's boundary, with some before and behind that stay without access: no other
 * mapping becomes one with the block, and what runs over its end is caught. */
static enum rc reserve_addresses(struct share_block *out, size_t n_bytes)
{
    const size_t n_reserved_bytes = n_bytes + 2 * HUGE_PAGE_BYTES;
    void *reserved = MAP_FAILED;

    if (n_reserved_bytes > n_bytes)
        reserved = mmap(NULL, n_reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return rc_raise(RC_NOMEM, "no addresses for %zu bytes: %s", n_bytes, strerror(errno));
    const size_t n_over_bytes = (uintptr_t)reserved % HUGE_PAGE_BYTES;
    *out = (struct share_block){ .memory = (char *)reserved + HUGE_PAGE_BYTES - n_over_bytes,
                                 .n_bytes = n_bytes,
                                 .reserved = reserved,
                                 .n_reserved_bytes = n_reserved_bytes };
    return RC_OK;
}

enum rc share_block_map(struct share_block *out, int fd, size_t n_bytes)
{
    const bool large = n_bytes >= HUGE_PAGE_BYTES;
    const int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (large ? MAP_FIXED : 0);
    struct share_block b = { .n_bytes = n_bytes };
    enum rc rc = RC_OK;

    if (large)
        TRY(reserve_addresses(&b, n_bytes));
    b.memory = mmap(b.memory, n_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (b.memory == MAP_FAILED) {
        b.memory = NULL;
        FAIL(RC_NOMEM, "%zu bytes cannot be mapped: %s", n_bytes, strerror(errno));
    }
    if (large)
        (void)madvise(b.memory, n_bytes, MADV_HUGEPAGE); /* advice: with small pages it is slower, not wrong */
    *out = b;
    b = (struct share_block){ 0 };
out:
    share_block_unmap(&b);
    return rc;
}

/* A write that changes nothing: peers may have written already. */
static void write_each_page(const struct share_block *b)
{
    const size_t page_bytes = share_page_bytes();

    for (size_t i = 0; i < b->n_bytes; i += page_bytes)
        (void)__atomic_fetch_or((unsigned char *)b->memory + i, 0, __ATOMIC_RELAXED);
}

enum rc share_block_touch(struct share_block *b, int fd)
{
    int result;

    do
        result = madvise(b->memory, b->n_bytes, MADV_POPULATE_WRITE);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return RC_OK;
    if (errno != EINVAL) /* EFAULT: an access would have been answered by a signal */
        return rc_raise(RC_NOMEM, "no room for %zu bytes: %s", b->n_bytes, strerror(errno == EFAULT ? ENOSPC : errno));
    if (fd >= 0 && fallocate(fd, 0, 0, (off_t)b->n_bytes) != 0)
        return rc_raise(RC_NOMEM, "no room for %zu bytes: %s", b->n_bytes, strerror(errno));
    write_each_page(b);
    return RC_OK;
}

void share_block_unmap(struct share_block *b)
{
    if (b->reserved)
        (void)munmap(b->reserved, b->n_reserved_bytes); /* can't fail: the arguments are mmap's own */
    else if (b->memory)
        (void)munmap(b->memory, b->n_bytes);
    *b = (struct share_block){ 0 };
}
