/* SPDX-License-Identifier: Apache-2.0 */
/* encryption.h - text for the result of exchange_encryption(). */
#ifndef HARNESS_EXCHANGE_ENCRYPTION_H
#define HARNESS_EXCHANGE_ENCRYPTION_H

#include <string.h>

/* "" if nothing crosses a network. Cannot fail. */
static inline const char *encryption_words(const char *encryption)
{
    if (strcmp(encryption, "curve") == 0)
        return "CURVE: who listens on the network reads lengths and times alone";
    if (strcmp(encryption, "clear") == 0)
        return "none: who listens on the network reads what is exchanged";
    return "";
}

#endif
