/* SPDX-License-Identifier: Apache-2.0 */
/* peak_rss.c - see peak_rss.h. Source: proc(5), /proc/pid/clear_refs and VmHWM of /proc/pid/status. */
#include "harness/base/peak_rss.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
