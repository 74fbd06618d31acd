/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.c - MemAvailable, the limits of control groups, versions 1 and 2, and that of the address space. */
#include "harness/base/host_memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static const struct version { /* of control groups */
    const char *controller, *folder, *limit, *usage, *reclaimable;
} versions[] = {
    { "", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file" },
    { "memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file" },
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number after `label` at the begin of a line of the file ("": the first line); SIZE_MAX: there is none. */
static size_t number_in(const char *path, const char *label)
{
    FILE *file = fopen(path, "re");
    size_t found = SIZE_MAX;
    char line[256];

    while (file && found == SIZE_MAX && fgets(line, sizeof line, file)) {
        const size_t n_chars = strlen(label);
        char *end;
        if (strncmp(line, label, n_chars) != 0)
            continue;
        const unsigned long long value = strtoull(line + n_chars, &end, 10);
        if (end != line + n_chars)
            found = (size_t)value;
        if (n_chars == 0)
            break;
    }
    if (file)
        (void)fclose(file);
    return found;
}

/* What the group of this folder may still use; its files' cache counts as free. */
static size_t room_in(const char *folder, const struct version *v)
{
    char path[PATH_BYTES + 64];

    (void)snprintf(path, sizeof path, "%s/%s", folder, v->limit);
    const size_t limit_bytes = number_in(path, "");
    (void)snprintf(path, sizeof path, "%s/%s", folder, v->usage);
    const size_t used_bytes = number_in(path, "");
    (void)snprintf(path, sizeof path, "%s/memory.stat", folder);
    const size_t cache_bytes = number_in(path, v->reclaimable);

    if (limit_bytes == SIZE_MAX || used_bytes == SIZE_MAX)
        return SIZE_MAX;
    const size_t kept_bytes = cache_bytes < used_bytes ? used_bytes - cache_bytes : used_bytes;
    return limit_bytes > kept_bytes ? limit_bytes - kept_bytes : 0;
}

/* The least room of a group and of those above it. In a container the path may be one of the host; then only its
 * beginning, the container's own group, is there. */
static size_t room_of_groups(const char *root, const struct version *v, char *group)
{
    char folder[PATH_BYTES];
    size_t room_bytes = SIZE_MAX;

    for (;;) {
        (void)snprintf(folder, sizeof folder, "%s%s%s", root, v->folder, group);
        room_bytes = least(room_bytes, room_in(folder, v));
        char *slash = strrchr(group, '/');
        if (!slash)
            return room_bytes;
        *slash = '\0';
    }
}

/* A line of /proc/self/cgroup is NUMBER:CONTROLLERS:PATH. */
static const struct version *version_of(char *line, char **group)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(++controllers, ':') : NULL;

    if (!path)
        return NULL;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    *group = path;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(controllers, versions[i].controller) == 0)
            return &versions[i];
    return NULL;
}

/* What ulimit -v leaves of the address space, less what libraries and the stacks of threads take beside. */
static size_t room_of_limit(const char *root)
{
    enum { BESIDE_BYTES = 256 << 20 };
    struct rlimit limit;
    char path[PATH_BYTES];

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    (void)snprintf(path, sizeof path, "%s/proc/self/status", root);
    const size_t used_kib = number_in(path, "VmSize:");
    if (used_kib >= (SIZE_MAX - BESIDE_BYTES) / 1024)
        return SIZE_MAX;
    const size_t used_bytes = used_kib * 1024 + BESIDE_BYTES;
    /* with less no world runs, and host_memory_check_limit() says why */
    return limit.rlim_cur > used_bytes ? (size_t)limit.rlim_cur - used_bytes : SIZE_MAX;
}

size_t host_memory_available(const char *root)
{
    char path[PATH_BYTES], line[PATH_BYTES], *group = NULL;
    size_t available_bytes = SIZE_MAX;

    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    const size_t available_kib = number_in(path, "MemAvailable:");
    if (available_kib < SIZE_MAX / 1024)
        available_bytes = available_kib * 1024;
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const struct version *v = version_of(line, &group);
        if (v)
            available_bytes = least(available_bytes, room_of_groups(root, v, group));
    }
    if (file)
        (void)fclose(file);
    return least(available_bytes, room_of_limit(root));
}

enum rc host_memory_check_limit(size_t n_bytes, const char *what)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return RC_OK;
    void *probe = mmap(NULL, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe != MAP_FAILED) {
        (void)munmap(probe, n_bytes);
        return RC_OK;
    }
    return rc_raise(RC_NOMEM,
                    "ulimit -v %llu: leaves less than the %zu MiB of address space that %s may need; raise it, or lift "
                    "it by ulimit -v unlimited",
                    (unsigned long long)limit.rlim_cur / 1024, n_bytes >> 20, what);
}

bool peak_rss_reset(void)
{
    FILE *to = fopen("/proc/self/clear_refs", "we");

    if (!to)
        return false;
    const bool written = fputs("5", to) != EOF;
    return fclose(to) == 0 && written;
}

double peak_rss_bytes(void)
{
    FILE *from = fopen("/proc/self/status", "re");
    static const char key[] = "VmHWM:";
    double bytes = NAN;
    char line[256];

    while (from && isnan(bytes) && fgets(line, sizeof line, from))
        if (strncmp(line, key, sizeof key - 1) == 0)
            bytes = 1024.0 * strtod(line + sizeof key - 1, NULL);
    if (from)
        fclose(from);
    return bytes;
}

/* What /proc/self/smaps says of a mapping. */

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
