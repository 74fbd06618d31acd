/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - what /proc/self/smaps says of a mapping. */
#include "harness/base/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mapping {
    uintptr_t first, end;
    size_t page_bytes, n_huge_bytes;
};

/* Add up a field of smaps: "NAME:   123 kB". */
static void add_field(const char *line, const char *name, size_t *n_bytes)
{
    const size_t n_chars = strlen(name);

    if (strncmp(line, name, n_chars) == 0)
        *n_bytes += (size_t)strtoull(line + n_chars, NULL, 10) * 1024;
}

/* The begin of the lines about a mapping, "FIRST-END ...", is told from a field, "NAME: ...", by its dash. */
static bool begins_mapping(const char *line, struct mapping *out)
{
    char *end;

    const unsigned long long first = strtoull(line, &end, 16);
    if (end == line || *end != '-')
        return false;
    *out = (struct mapping){ .first = (uintptr_t)first, .end = (uintptr_t)strtoull(end + 1, NULL, 16) };
    return true;
}

static struct mapping mapping_of(const void *memory)
{
    const uintptr_t at = (uintptr_t)memory;
    struct mapping m = { 0 }, found = { 0 };
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[512];

    while (file && fgets(line, sizeof line, file)) {
        if (begins_mapping(line, &m)) {
            if (found.end > 0)
                break;
            continue;
        }
        if (at < m.first || at >= m.end)
            continue;
        add_field(line, "KernelPageSize:", &m.page_bytes);
        add_field(line, "AnonHugePages:", &m.n_huge_bytes);
        add_field(line, "ShmemPmdMapped:", &m.n_huge_bytes);
        found = m;
    }
    if (file)
        (void)fclose(file);
    return found;
}

enum pages pages_of(const void *memory, size_t n_bytes)
{
    if (n_bytes < HUGE_PAGE_BYTES)
        return PAGES_SMALL;
    const struct mapping m = mapping_of(memory);
    if (m.page_bytes > (size_t)sysconf(_SC_PAGESIZE))
        return PAGES_HUGETLB;
    const size_t first = (m.first + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES, end = m.end / HUGE_PAGE_BYTES;
    const size_t n_fit = end > first ? end - first : 0; /* huge pages, at most */
    return 2 * (m.n_huge_bytes / HUGE_PAGE_BYTES) > n_fit ? PAGES_TRANSPARENT : PAGES_SMALL;
}

const char *pages_text(enum pages pages)
{
    static const char *const text[] = { "small", "transparent huge", "hugetlb" };

    return text[pages];
}
