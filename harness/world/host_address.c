/* SPDX-License-Identifier: Apache-2.0 */
/* host_address.c - the address of a network interface; the contract is in host_address.h. */
#include "harness/world/host_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(HOST_ADDRESS_BYTES == INET_ADDRSTRLEN, "what inet_ntop() writes");

static bool reaches_others(const struct ifaddrs *i)
{
    return i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
           (i->ifa_flags & IFF_RUNNING) && !(i->ifa_flags & IFF_LOOPBACK);
}

enum rc host_address(char out[HOST_ADDRESS_BYTES])
{
    struct ifaddrs *all = NULL;
    struct sockaddr_in address;
    enum rc rc = RC_OK;

    if (getifaddrs(&all) != 0)
        return rc_raise(RC_IO, "network interfaces cannot be listed: %s", strerror(errno));
    const struct ifaddrs *i = all;
    while (i && !reaches_others(i))
        i = i->ifa_next;
    if (!i)
        FAIL(RC_IO, "ranks are on several hosts, but no network interface with an IPv4 address is up");
    memcpy(&address, i->ifa_addr, sizeof address);
    if (!inet_ntop(AF_INET, &address.sin_addr, out, HOST_ADDRESS_BYTES))
        FAIL(RC_IO, "the address of %s cannot be written: %s", i->ifa_name, strerror(errno));
out:
    freeifaddrs(all);
    return rc;
}
