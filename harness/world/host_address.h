/* SPDX-License-Identifier: Apache-2.0 */
/* host_address.h - the address at which other hosts reach this one. IPv4. */
#ifndef HARNESS_WORLD_HOST_ADDRESS_H
#define HARNESS_WORLD_HOST_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/world/world.h"

enum { HOST_ADDRESS_BYTES = 16 }; /* "255.255.255.255", terminated */

struct ifaddrs;
struct module;

/* The address of the interface that --interface names (struct world): its NAME; one of its addresses; ADDRESS/BITS, a
 * network that it is in. NULL or "": the first one, in the system's order, that is not the loopback. It has to be up.
 * RC_INVAL: there is none such; the message lists those that there are. RC_IO: without a name, likewise; or the
 * interfaces cannot be listed. */
enum rc host_address(char out[HOST_ADDRESS_BYTES], const char *interface) MUST_CHECK;
/* Is this value of --interface right in `world`? RC_INVAL: that has one process, which needs none; likewise as
 * host_address(), on rank 0 of a launch alone: it tells errors before there is a world, and another host's show when
 * its rank opens the transport. */
enum rc host_address_check_option(const char *interface, const struct module *world) MUST_CHECK;
/* --insecure and --secure. RC_INVAL: both. */
enum rc world_security_option(enum world_security *out, bool insecure, bool secure) MUST_CHECK;
/* Does it reach this host from this host alone? */
bool host_address_is_loopback(const char *address);
/* "eth0 10.0.0.1, lo 127.0.0.1": the interfaces of this host that are up. out[n_bytes]; what does not fit is left out.
 * Cannot fail: "none" where they cannot be listed. */
void host_address_list(char *out, size_t n_bytes);

/* The first two of a list of getifaddrs(), for tests. */
enum rc host_address_of(char out[HOST_ADDRESS_BYTES], const struct ifaddrs *all, const char *interface) MUST_CHECK;
void host_address_list_of(char *out, size_t n_bytes, const struct ifaddrs *all);

#endif
