/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_presets.h - the descriptions of presets/, compiled in. Private to this room; the build writes the table. */
#ifndef HARNESS_CLUSTER_CLUSTER_PRESETS_H
#define HARNESS_CLUSTER_CLUSTER_PRESETS_H

#include <stddef.h>

struct cluster_preset {
    const char *name; /* of its file, without .yaml */
    const char *text; /* [n_bytes] */
    size_t n_bytes;
};

extern const struct cluster_preset cluster_presets[]; /* name NULL last */

#endif
