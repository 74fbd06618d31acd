/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_socket.c - the contract is in tcp_socket.h. */
#include "harness/world/process/tcp_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Closes it and keeps errno. Returns -1. */
static int give_up(int fd)
{
    const int why = errno;

    (void)close(fd);
    errno = why;
    return -1;
}

/* A given port may still have connections of an earlier run. */
static bool may_reuse(int fd, const struct sockaddr_in *at)
{
    const int on = 1;

    return at->sin_port == 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
}

int tcp_socket_listen(struct sockaddr_in *at)
{
    const int fd = open_socket();
    socklen_t n_bytes = sizeof *at;

    if (fd < 0)
        return -1;
    if (!may_reuse(fd, at) || bind(fd, (const struct sockaddr *)at, sizeof *at) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)at, &n_bytes) != 0)
        return give_up(fd);
    return fd;
}

int tcp_socket_accept(int listening_fd, struct sockaddr_in *from)
{
    socklen_t n_bytes = sizeof *from;

    return accept4(listening_fd, (struct sockaddr *)from, from ? &n_bytes : NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int tcp_socket_begin(const struct sockaddr_in *to)
{
    const int fd = open_socket();

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) != 0 && errno != EINPROGRESS)
        return give_up(fd);
    return fd;
}

int tcp_socket_begun(int fd, int most_ms)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    int why = 0;
    socklen_t n_bytes = sizeof why;

    if (poll(&p, 1, most_ms) <= 0)
        return -1;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n_bytes) == 0 ? why : errno;
}
