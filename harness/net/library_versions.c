/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_versions.c - the libraries of this process: those that the loader found, not those of the build; see
 * library_versions.h.
 */
#include "harness/net/library_versions.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>
#if GRADMARK_HAVE_MPI
#include <mpi.h>
#endif

/* Libraries of MPI say more, of several lines: up to the first comma or end of a line is what people call it. */
static void mpi_version(char out[LIBRARY_VERSION_BYTES])
{
#if GRADMARK_HAVE_MPI
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;

    (void)MPI_Get_library_version(text, &n); /* allowed before MPI_Init() */
    snprintf(out, LIBRARY_VERSION_BYTES, "%.*s", (int)strcspn(text, ",\n"), text);
#else
    out[0] = '\0';
#endif
}

void library_versions(struct library_versions *out)
{
    int major, minor, patch;
    const unsigned hwloc = hwloc_get_api_version();

    mpi_version(out->mpi);
    zmq_version(&major, &minor, &patch);
    snprintf(out->zmq, sizeof out->zmq, "%d.%d.%d", major, minor, patch);
    snprintf(out->hwloc, sizeof out->hwloc, "%u.%u", hwloc >> 16, hwloc >> 8 & 0xff);
}
