/* SPDX-License-Identifier: Apache-2.0 */
/* gang_listen.c - where rank 0 listens. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness/world/host_address.h"
#include "harness/world/process/tcp_socket.h"
#include "harness/world/tcp/gang.h"

enum { N_OTHER_FILES = 16 }; /* what is open, and what one more process or connection needs while it begins */

bool gang_is_loopback(const char *host)
{
    struct in_addr v4;

    return strcmp(host, "localhost") == 0 || (inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127);
}

enum rc gang_find_host(struct in_addr *out, const char *host)
{
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const int error = getaddrinfo(host, NULL, &wanted, &found);

    if (error != 0)
        return rc_raise(RC_IO, "%s", gai_strerror(error));
    *out = ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
    return RC_OK;
}

/* -1: errno says why not. */
static int listen_at(struct in_addr address, uint16_t port)
{
    return tcp_socket_listen(
        &(struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = address, .sin_port = htons(port) });
}

/* The address is not of this host: that of a service, or of a gateway that translates it. */
static enum rc listen_behind(int *fd, const char *address, uint16_t port, const char *interface)
{
    struct in_addr at = { .s_addr = htonl(INADDR_ANY) };
    char own[HOST_ADDRESS_BYTES] = "all addresses";
    enum rc rc = RC_OK;

    if (interface && interface[0] != '\0') {
        TRY(host_address(own, interface));
        (void)inet_pton(AF_INET, own, &at);
    }
    *fd = listen_at(at, port);
    if (*fd < 0)
        FAIL(RC_IO, "%s: is no address of this host, and rank 0 cannot listen at port %d of %s: %s", address, port, own,
             strerror(errno));
    fprintf(stderr, "gradmark: %s: is no address of this host; rank 0 listens at port %d of %s\n", address, port, own);
out:
    return rc;
}

enum rc gang_listen(int *fd, const char *address, const char *interface)
{
    char host[GANG_ADDRESS_BYTES];
    struct in_addr at = { .s_addr = 0 };
    uint16_t port = 0;
    enum rc rc = RC_OK;

    *fd = -1;
    if (!gang_split_address(address, host, &port))
        return rc_raise(RC_INVAL, "%s: %s", address, gang_address_fault(address));
    if (gang_find_host(&at, host) != RC_OK)
        FAIL(RC_IO, "%s: rank 0 cannot listen there: %.200s", address, rc_message());
    if (ntohl(at.s_addr) >> 24 == 127 && !gang_is_loopback(host))
        at.s_addr = htonl(INADDR_ANY);
    *fd = listen_at(at, port);
    if (*fd < 0 && errno == EADDRNOTAVAIL)
        return listen_behind(fd, address, port, interface);
    if (*fd < 0)
        FAIL(RC_IO, "%s: rank 0 cannot listen there: %s", address, strerror(errno));
out:
    return rc;
}

enum rc gang_check_files(uint64_t n_files)
{
    const uint64_t n_needed = n_files + N_OTHER_FILES;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || n_needed <= limit.rlim_cur)
        return RC_OK;
    const uint64_t most = limit.rlim_cur = limit.rlim_max;
    if (n_needed <= most && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED, "world tcp: this process needs %llu open files, and its limit is %llu (ulimit -Hn)",
                    (unsigned long long)n_needed, (unsigned long long)most);
}
