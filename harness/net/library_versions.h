/* SPDX-License-Identifier: Apache-2.0 */
/* library_versions.h - the libraries of this process: those that the loader found, not those of the build. */
#ifndef HARNESS_NET_LIBRARY_VERSIONS_H
#define HARNESS_NET_LIBRARY_VERSIONS_H

enum { LIBRARY_VERSION_BYTES = 96 };

struct library_versions { /* "Open MPI v4.1.4", "4.3.4", "2.9"; "": not built in */
    char mpi[LIBRARY_VERSION_BYTES], zmq[LIBRARY_VERSION_BYTES], hwloc[LIBRARY_VERSION_BYTES];
};

/* Needs no world and initialises nothing. Cannot fail. */
void library_versions(struct library_versions *out);

#endif
