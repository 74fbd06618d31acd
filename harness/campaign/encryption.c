/* SPDX-License-Identifier: Apache-2.0 */
/* encryption.c - which modes of a campaign were encrypted: figures of one that was are not quite those of one that was
 * not. */
#include <string.h>

#include "harness/campaign/campaign.h"

/* Is there a point before i with the same mode and encryption? */
static bool was_named(const struct campaign *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (c->point[k].mode == c->point[i].mode && strcmp(c->point[k].encryption, c->point[i].encryption) == 0)
            return true;
    return false;
}

void campaign_tell_encryption(const struct campaign *c, FILE *to)
{
    static const struct {
        const char *encryption, *says;
    } kind[] = { { "curve", "Encrypted on the network, by CURVE" },
                 { "clear", "In clear on the network" } }; /* local: there was no network */

    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        const char *before = ": ";
        for (size_t i = 0; i < c->n_points; i++)
            if (strcmp(c->point[i].encryption, kind[k].encryption) == 0 && !was_named(c, i)) {
                fprintf(to, "%s%s%s", before[0] == ':' ? kind[k].says : "", before, c->point[i].mode->name);
                before = ", ";
            }
        if (before[0] != ':')
            fputs(".\n", to);
    }
}
