/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.c - facts of the build come from build_info.h, which the build writes (see
 * scripts/cmake/build_info.cmake); facts of the machine are read here, when it is asked.
 *
 * date_utc is the one real time outside harness/world: it dates a record, nothing is measured with it.
 * Facts that cannot be had are null, never guessed.
 */
#include "harness/report/manifest.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "build_info.h"
#include "harness/report/environment.h"
#include "harness/world/child.h"

extern char **environ;

static const char *known(const char *text)
{
    return *text ? text : NULL;
}

/* The text after the colon of the first line that begins with key; "" when there is none. Lines of
 * /proc/cpuinfo, which differ between architectures. */
static void cpu_fact(char *out, size_t n_bytes, const char *key)
{
    FILE *from = fopen("/proc/cpuinfo", "re");
    char line[512];

    out[0] = '\0';
    while (from && fgets(line, sizeof line, from)) {
        char *value = strchr(line, ':');

        if (strncmp(line, key, strlen(key)) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, n_bytes, "%s", value);
        break;
    }
    if (from)
        fclose(from);
}

void manifest_cpu_model(char *out, size_t n_bytes)
{
    cpu_fact(out, n_bytes, "model name");
    if (!*out)
        cpu_fact(out, n_bytes, "Model");
}

void manifest_date(char *out, size_t n_bytes)
{
    const time_t now = time(NULL);
    struct tm utc;

    if (!gmtime_r(&now, &utc) || strftime(out, n_bytes, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        out[0] = '\0';
}

/* Cores this process may use, which is less than the machine has under a batch system. */
static uint64_t cores_count(void)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return (uint64_t)CPU_COUNT(&allowed);
    return (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void fill_build(struct record *r)
{
    record_text(r, "version", GRADMARK_VERSION);
    record_text(r, "git_commit", GRADMARK_GIT_COMMIT);
    if (strcmp(GRADMARK_GIT_COMMIT, "unknown") == 0)
        record_null(r, "git_dirty");
    else
        record_bool(r, "git_dirty", GRADMARK_GIT_DIRTY);
    record_text(r, "compiler", GRADMARK_COMPILER);
    record_text(r, "compiler_flags", GRADMARK_COMPILER_FLAGS);
    record_text(r, "build_type", GRADMARK_BUILD_TYPE);
}

static void fill_machine(struct record *r)
{
    struct utsname os;
    char text[256];
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    child_host_name(text, sizeof text);
    record_text(r, "host", text);
    if (uname(&os) == 0) {
        snprintf(text, sizeof text, "%s %s %s", os.sysname, os.release, os.machine);
        record_text(r, "kernel", text);
    } else {
        record_null(r, "kernel");
    }
    manifest_cpu_model(text, sizeof text);
    record_text(r, "cpu_model", known(text));
    record_u64(r, "cores_count", cores_count());
    record_count(r, "memory_bytes", n_pages > 0 && page_bytes > 0, (uint64_t)n_pages * (uint64_t)page_bytes);
    manifest_date(text, sizeof text);
    record_text(r, "date_utc", known(text));
}

/* Versions as found when this binary was built. */
static const struct {
    const char *key, *version;
} library[] = {
    { "hwloc", GRADMARK_HWLOC_VERSION },   { "openblas", GRADMARK_CBLAS_VERSION },
    { "onednn", GRADMARK_ONEDNN_VERSION }, { "zeromq", GRADMARK_ZMQ_VERSION },
    { "mpi", GRADMARK_MPI_VERSION },       { "jansson", GRADMARK_JANSSON_VERSION },
    { "libjpeg", GRADMARK_JPEG_VERSION },  { "libpng", GRADMARK_PNG_VERSION },
};

static void fill_libraries(struct record *r)
{
    struct record *libraries = record_open(NULL);

    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        record_text(libraries, library[i].key, known(library[i].version));
    record_child(r, "libraries", &libraries);
}

void manifest_fill(struct record *r, bool virtual_only)
{
    fill_build(r);
    if (virtual_only)
        return;
    fill_machine(r);
    fill_libraries(r);
    environment_record(r, environ);
}

void manifest_build(char *out, size_t n_bytes)
{
    snprintf(out, n_bytes, "%s by %s: %s", GRADMARK_BUILD_TYPE, GRADMARK_COMPILER, GRADMARK_COMPILER_FLAGS);
}

void manifest_libraries(char *out, size_t n_bytes)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof library / sizeof *library && n < n_bytes; i++)
        if (*library[i].version)
            n += (size_t)snprintf(out + n, n_bytes - n, "%s%s %s", n > 0 ? ", " : "", library[i].key,
                                  library[i].version);
}

void manifest_machine(char *out, size_t n_bytes)
{
    const long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    struct utsname os;
    char cpu[256];

    manifest_cpu_model(cpu, sizeof cpu);
    snprintf(out, n_bytes, "%s, %.3g GB of memory", *cpu ? cpu : "processor of unknown model",
             1e-9 * (double)n_pages * (double)page_bytes);
    const size_t n = strlen(out);
    if (uname(&os) == 0)
        snprintf(out + n, n_bytes - n, ", %s %s %s", os.sysname, os.release, os.machine);
}

void manifest_version(char *out, size_t n_bytes)
{
    snprintf(out, n_bytes, "%s (commit %.12s%s)", GRADMARK_VERSION, GRADMARK_GIT_COMMIT,
             GRADMARK_GIT_DIRTY ? ", changed" : "");
}
