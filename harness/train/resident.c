/* SPDX-License-Identifier: Apache-2.0 */
/* resident.c - see resident.h. Source: proc(5), /proc/pid/clear_refs and VmHWM of /proc/pid/status. */
#include "harness/train/resident.h"

#include <math.h>
#include <stdio.h>

bool resident_peak_reset(void)
{
    FILE *to = fopen("/proc/self/clear_refs", "w");

    if (!to)
        return false;
    const bool written = fputs("5", to) != EOF;
    return fclose(to) == 0 && written;
}

double resident_peak_bytes(void)
{
    FILE *from = fopen("/proc/self/status", "r");
    unsigned long long kib = 0;
    bool found = false;
    char line[256];

    while (from && !found && fgets(line, sizeof line, from))
        found = sscanf(line, "VmHWM: %llu kB", &kib) == 1;
    if (from)
        fclose(from);
    return found ? 1024.0 * (double)kib : NAN;
}
