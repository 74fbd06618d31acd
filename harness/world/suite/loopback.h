/* SPDX-License-Identifier: Apache-2.0 */
/* loopback.h - sockets on 127.0.0.1, at a port that is free. Test-only. */
#ifndef HARNESS_WORLD_SUITE_LOOPBACK_H
#define HARNESS_WORLD_SUITE_LOOPBACK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bound to *port, which is nobody else's, and not listened at: nobody can connect before the caller listens. -1: no
 * socket. */
static inline int loopback_bind(uint16_t *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n_bytes = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *port = 0;
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n_bytes) != 0)
        return -1;
    *port = ntohs(at.sin_port);
    return fd;
}

/* Connected to it; -1: nobody takes it. */
static inline int loopback_dial(uint16_t port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Of "...:PORT". */
static inline uint16_t loopback_port(const char *address)
{
    return (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
}

#endif
