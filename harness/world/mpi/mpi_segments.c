/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_segments.c - what of the files in /proc/self/maps is Open MPI's. */
#include "harness/world/mpi/mpi_segments.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of a line of maps, the path; NULL: it is not of a segment. Ends the line behind it. */
static char *segment_path(char *line)
{
    char *path = strchr(line, '/');
    const char *name = path ? strrchr(path, '/') + 1 : NULL;

    if (!name || strncmp(name, "vader_segment.", strlen("vader_segment.")) != 0)
        return NULL;
    path[strcspn(path, "\n")] = '\0';
    return path;
}

void mpi_segments_remove(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4352]; /* PATH_MAX and what stands before it */

    if (!maps)
        return;
    while (fgets(line, sizeof line, maps)) {
        const char *path = segment_path(line);
        if (path)
            (void)!unlink(path); /* another rank may have done so: then the path ends in " (deleted)" */
    }
    (void)!fclose(maps);
}
