/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_address.c - from where the ranks are to where they listen; the contract is in zmq_address.h. */
#include "harness/net/zmq_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/world/world.h"

static bool reaches_others(const struct ifaddrs *i)
{
    return i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
           (i->ifa_flags & IFF_RUNNING) && !(i->ifa_flags & IFF_LOOPBACK);
}

static enum rc outside_address(char *out, size_t n_bytes)
{
    struct ifaddrs *all = NULL;
    struct sockaddr_in address;
    char text[INET_ADDRSTRLEN];
    enum rc rc = RC_OK;

    if (getifaddrs(&all) != 0)
        return rc_raise(RC_IO, "transport zmq: network interfaces cannot be listed: %s", strerror(errno));
    const struct ifaddrs *i = all;
    while (i && !reaches_others(i))
        i = i->ifa_next;
    if (!i)
        FAIL(RC_IO, "transport zmq: ranks are on several hosts, but no network interface with an IPv4 address is up");
    memcpy(&address, i->ifa_addr, sizeof address);
    if (!inet_ntop(AF_INET, &address.sin_addr, text, sizeof text))
        FAIL(RC_IO, "transport zmq: the address of %s cannot be written: %s", i->ifa_name, strerror(errno));
    (void)snprintf(out, n_bytes, "tcp://%s:*", text);
out:
    freeifaddrs(all);
    return rc;
}

enum rc zmq_address(char *out, size_t n_bytes, const struct world *w)
{
    if (w->n_host_ranks < w->n_ranks && !(w->ops->module.caps & WORLD_SHARED_MEMORY))
        return outside_address(out, n_bytes);
    if (w->ops->module.caps & WORLD_SHARED_MEMORY)
        (void)snprintf(out, n_bytes, "inproc://rank-%d", w->rank);
    else
        (void)snprintf(out, n_bytes, "tcp://127.0.0.1:*");
    return RC_OK;
}
