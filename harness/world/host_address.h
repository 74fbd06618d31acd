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
 * network that it is in. NULL or "": the first one, in the system's order, that is not the loopback. It must be up.
 * Errors: RC_INVAL if there is no such interface; the message lists the existing ones. RC_IO: the same without a name;
 * or the interfaces cannot be listed. */
enum rc host_address(char out[HOST_ADDRESS_BYTES], const char *interface) MUST_CHECK;
/* Checks the value of --interface for `world`. RC_INVAL: that world has one process, which needs no interface. Other
 * errors as host_address(), only on rank 0 of a launch, where they are reported before there is a world. Errors on
 * other hosts show when their ranks open the transport. */
enum rc host_address_check_option(const char *interface, const struct module *world) MUST_CHECK;
/* --insecure and --secure, of which the tables of options exclude both, for this reason. */
#define WORLD_SECURE_REFUSED "--insecure encrypts nothing; leave one of the two out"
enum world_security world_security_option(bool insecure, bool secure);
/* Does only this host reach itself by this address? */
bool host_address_is_loopback(const char *address);
/* Lists the interfaces of this host that are up: "eth0 10.0.0.1, lo 127.0.0.1". out[n_bytes]; the list is cut to fit.
 * Cannot fail: "none" if they cannot be listed. */
void host_address_list(char *out, size_t n_bytes);

/* The first two of a list of getifaddrs(), for tests. */
enum rc host_address_of(char out[HOST_ADDRESS_BYTES], const struct ifaddrs *all, const char *interface) MUST_CHECK;
void host_address_list_of(char *out, size_t n_bytes, const struct ifaddrs *all);

#endif
