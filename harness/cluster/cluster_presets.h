/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_presets.h - the descriptions in presets/, compiled in. Private to this module; the build generates the
 * table. */
#ifndef HARNESS_CLUSTER_CLUSTER_PRESETS_H
#define HARNESS_CLUSTER_CLUSTER_PRESETS_H

#include <stddef.h>

struct cluster_preset {
    const char *name; /* file name, without .yaml */
    const char *text; /* [n_bytes] */
    size_t n_bytes;
};

extern const struct cluster_preset cluster_presets[]; /* name NULL last */

#endif
