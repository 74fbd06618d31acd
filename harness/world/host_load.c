/* SPDX-License-Identifier: Apache-2.0 */
/* host_load.c - /proc/stat, cpufreq and getrusage(). Sources: proc(5); the kernel's cpufreq sysfs documentation. */
#include "harness/world/host_load.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/hold.h"
#include "harness/world/wait.h"

enum { PATH_BYTES = 512, LINE_BYTES = 1024 };

/* "cpu  USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST GUEST_NICE" in clock ticks; guests are in USER and NICE.
 */
static void read_total(struct host_load *out, const char *line)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_FIELDS };
    const double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    double ticks[N_FIELDS];

    line += strlen("cpu ");
    for (int i = 0; i < N_FIELDS; i++) {
        char *end;
        ticks[i] = (double)strtoull(line, &end, 10);
        if (end == line)
            return;
        line = end;
    }
    out->busy_s = (ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ]) / ticks_per_s;
    out->steal_s = ticks[STEAL] / ticks_per_s;
}

/* Its first lines are "cpu " of all hardware threads, and "cpu0 ", "cpu1 ", ... of each that is there. */
static void read_cores(struct host_load *out, const char *root)
{
    static const char label[] = "cpu "; /* a number in place of the blank: of one hardware thread */
    enum { N_LABEL = sizeof label - 1 };
    char path[PATH_BYTES], line[LINE_BYTES];
    int n_cores = 0;

    (void)snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *from = fopen(path, "re");
    while (from && fgets(line, sizeof line, from)) {
        if (strncmp(line, label, N_LABEL) == 0)
            read_total(out, line);
        else if (strncmp(line, label, N_LABEL - 1) == 0 && isdigit((unsigned char)line[N_LABEL - 1]))
            n_cores++;
        else
            break;
    }
    if (from)
        (void)fclose(from);
    out->n_cores = isnan(out->busy_s) ? 0 : n_cores;
    if (out->n_cores == 0)
        out->busy_s = out->steal_s = NAN;
}

/* The hardware thread that the caller runs on: the 39th word of its stat, the second of which, its name in brackets,
 * may hold anything. -1: the system does not tell. */
static int current_core(const char *root)
{
    enum { FIRST_BEHIND_NAME = 3, PROCESSOR = 39 };
    char line[LINE_BYTES];

    file_first_line(line, sizeof line, root, "/proc/thread-self/stat");
    const char *at = strrchr(line, ')');
    for (int i = FIRST_BEHIND_NAME - 1; at && i < PROCESSOR; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at && isdigit((unsigned char)*at) ? (int)strtol(at, NULL, 10) : -1;
}

static double frequency_hz(const char *root)
{
    char path[PATH_BYTES], line[LINE_BYTES], *end;
    const int core = current_core(root);

    if (core < 0)
        return NAN;
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", core);
    file_first_line(line, sizeof line, root, path);
    const double khz = strtod(line, &end);
    return end != line && khz > 0 ? 1e3 * khz : NAN;
}

static double own_s(void)
{
    struct rusage used;

    if (getrusage(RUSAGE_SELF, &used) != 0)
        return NAN;
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void host_load_read(struct host_load *out, const char *root)
{
    *out = (struct host_load){ .busy_s = NAN, .steal_s = NAN, .frequency_hz = frequency_hz(root) };
    read_cores(out, root);
    out->own_s = own_s();
    out->now_ns = wait_clock_ns();
}

void host_load_watch(struct host_load *before, struct host_load *after, uint64_t window_ns, const char *root)
{
    const struct timespec window = { .tv_nsec = (long)window_ns };

    host_load_read(before, root);
    (void)nanosleep(&window, NULL);
    hold_at("host_load", 0, 0);
    host_load_read(after, root);
}

uint64_t host_date_ns(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void host_kernel_id(char out[HOST_KERNEL_BYTES], const char *root)
{
    char line[LINE_BYTES];

    file_first_line(line, sizeof line, root, "/proc/sys/kernel/random/boot_id");
    (void)snprintf(out, HOST_KERNEL_BYTES, "%.*s", HOST_KERNEL_BYTES - 1, line);
}

uint64_t host_namespace_id(const char *kind)
{
    char path[64];
    struct stat file;

    (void)snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
    return stat(path, &file) == 0 ? file.st_ino : 0;
}
