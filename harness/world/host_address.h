/* SPDX-License-Identifier: Apache-2.0 */
/* host_address.h - the address at which other hosts reach this one. */
#ifndef HARNESS_WORLD_HOST_ADDRESS_H
#define HARNESS_WORLD_HOST_ADDRESS_H

#include "harness/base/rc.h"

enum { HOST_ADDRESS_BYTES = 16 }; /* "255.255.255.255", terminated */

/* The first IPv4 address, in the system's order, of an interface that is up and not the loopback. RC_IO: there is none,
 * or the interfaces cannot be listed. */
enum rc host_address(char out[HOST_ADDRESS_BYTES]) MUST_CHECK;

#endif
