/* SPDX-License-Identifier: Apache-2.0 */
/* host_address.c - the address of a network interface; the contract is in host_address.h. */
#include "harness/world/host_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/world/child.h"
#include "harness/world/world.h"

_Static_assert(HOST_ADDRESS_BYTES == INET_ADDRSTRLEN, "what inet_ntop() writes");

enum { LIST_BYTES = 256, HOST_BYTES = 64 };

struct wanted { /* what --interface says, as a network: an address has a mask of 32 bits */
    bool is_network;
    uint32_t address, mask; /* in the host's byte order */
};

static bool is_up(const struct ifaddrs *i)
{
    return i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) && (i->ifa_flags & IFF_RUNNING);
}

static uint32_t address_of(const struct ifaddrs *i)
{
    struct sockaddr_in address;

    memcpy(&address, i->ifa_addr, sizeof address);
    return ntohl(address.sin_addr.s_addr);
}

/* "10.0.0.1" or "10.0.0.0/24"; anything else is a name. */
static struct wanted parse(const char *interface)
{
    const char *slash = strchr(interface, '/');
    const size_t n_chars = slash ? (size_t)(slash - interface) : strlen(interface);
    char text[HOST_ADDRESS_BYTES];
    struct in_addr address;
    uint64_t n_bits = 32;

    if (n_chars >= sizeof text)
        return (struct wanted){ .is_network = false };
    memcpy(text, interface, n_chars);
    text[n_chars] = '\0';
    if (inet_pton(AF_INET, text, &address) != 1 || (slash && (!text_to_plain_u64(slash + 1, &n_bits) || n_bits > 32)))
        return (struct wanted){ .is_network = false };
    return (struct wanted){ .is_network = true,
                            .address = ntohl(address.s_addr),
                            .mask = n_bits == 0 ? 0 : UINT32_MAX << (32 - n_bits) };
}

static bool is_wanted(const struct ifaddrs *i, const char *interface, const struct wanted *wanted)
{
    if (!is_up(i))
        return false;
    if (interface[0] == '\0')
        return !(i->ifa_flags & IFF_LOOPBACK);
    if (wanted->is_network)
        return ((address_of(i) ^ wanted->address) & wanted->mask) == 0;
    return strcmp(i->ifa_name, interface) == 0;
}

static enum rc write_address(char out[HOST_ADDRESS_BYTES], const struct ifaddrs *i)
{
    const struct in_addr address = { .s_addr = htonl(address_of(i)) };

    if (!inet_ntop(AF_INET, &address, out, HOST_ADDRESS_BYTES))
        return rc_raise(RC_IO, "the address of %s cannot be written: %s", i->ifa_name, strerror(errno));
    return RC_OK;
}

void host_address_list_of(char *out, size_t n_bytes, const struct ifaddrs *all)
{
    char address[HOST_ADDRESS_BYTES];
    size_t n_used = 0;

    (void)snprintf(out, n_bytes, "none");
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!is_up(i) || write_address(address, i) != RC_OK)
            continue;
        const size_t n_more = strlen(i->ifa_name) + strlen(address) + 3; /* ", ", " " */
        if (n_used + n_more >= n_bytes)
            break;
        n_used +=
            (size_t)snprintf(out + n_used, n_bytes - n_used, "%s%s %s", n_used > 0 ? ", " : "", i->ifa_name, address);
    }
}

enum rc host_address_of(char out[HOST_ADDRESS_BYTES], const struct ifaddrs *all, const char *interface)
{
    const char *name = interface ? interface : "";
    const struct wanted wanted = parse(name);
    char list[LIST_BYTES], host[HOST_BYTES];
    const struct ifaddrs *i = all;

    while (i && !is_wanted(i, name, &wanted))
        i = i->ifa_next;
    if (i)
        return write_address(out, i);
    if (text_is_ipv6(name))
        return rc_raise(
            RC_INVAL,
            "--interface %.64s: is an IPv6 address, and gradmark uses IPv4; name the interface, or its IPv4 "
            "address",
            name);
    if (name[0] == '\0')
        return rc_raise(RC_IO, "ranks are on several hosts, but no network interface with an IPv4 address is up");
    host_address_list_of(list, sizeof list, all);
    child_host_name(host, sizeof host);
    return rc_raise(RC_INVAL,
                    "--interface %.64s: host %s has no such interface with an IPv4 address that is up; it has %s", name,
                    host, list);
}

enum rc host_address(char out[HOST_ADDRESS_BYTES], const char *interface)
{
    struct ifaddrs *all = NULL;
    enum rc rc;

    if (getifaddrs(&all) != 0)
        return rc_raise(RC_IO, "network interfaces cannot be listed: %s", strerror(errno));
    rc = host_address_of(out, all, interface);
    freeifaddrs(all);
    return rc;
}

void host_address_list(char *out, size_t n_bytes)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0)
        all = NULL;
    host_address_list_of(out, n_bytes, all);
    if (all)
        freeifaddrs(all);
}

enum world_security world_security_option(bool insecure, bool secure)
{
    return insecure ? SECURITY_OFF : secure ? SECURITY_ON : SECURITY_AUTO;
}

bool host_address_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0;
}

enum rc host_address_check_option(const char *interface, const struct module *world)
{
    char address[HOST_ADDRESS_BYTES];

    if (interface[0] == '\0')
        return RC_OK;
    if (!(world->caps & WORLD_LAUNCHED))
        return rc_raise(RC_INVAL,
                        "--interface %s: the ranks of world %s are in one process; needs processes of mpirun, srun or "
                        "gradmark launch",
                        interface, world->name);
    return world_launcher().rank == 0 ? host_address(address, interface) : RC_OK;
}
