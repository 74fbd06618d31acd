/* SPDX-License-Identifier: Apache-2.0 */
/* gang_listen.c - where rank 0 listens. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/world/tcp/gang.h"

bool gang_is_loopback(const char *host)
{
    struct in_addr v4;

    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127);
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

/* -1: errno says why not. */
static int listen_at(const struct addrinfo *at)
{
    const int on = 1, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && bind(fd, at->ai_addr, at->ai_addrlen) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    const int why = errno;
    (void)close(fd);
    errno = why;
    return -1;
}

enum rc gang_listen(int *fd, const char *address)
{
    struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    char host[GANG_ADDRESS_BYTES], service[8];
    struct addrinfo *found = NULL, *all = NULL;
    uint16_t port = 0;
    enum rc rc = RC_OK;

    *fd = -1;
    if (!gang_split_address(address, host, &port))
        return rc_raise(RC_INVAL, "%s: is no HOST:PORT", address);
    (void)snprintf(service, sizeof service, "%d", port);
    int error = getaddrinfo(host, service, &wanted, &found);
    if (error == 0 && is_loopback(found->ai_addr) && !gang_is_loopback(host)) {
        wanted.ai_family = AF_INET;
        error = getaddrinfo(NULL, service, &wanted, &all);
    }
    if (error != 0)
        FAIL(RC_IO, "%s: rank 0 cannot listen there: %s", address, gai_strerror(error));
    *fd = listen_at(all ? all : found);
    if (*fd < 0)
        FAIL(RC_IO, "%s: rank 0 cannot listen there: %s", address, strerror(errno));
out:
    if (found)
        freeaddrinfo(found);
    if (all)
        freeaddrinfo(all);
    return rc;
}
