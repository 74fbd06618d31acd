/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_socket.h - TCP sockets over IPv4 that do not block and are closed on exec. Private to harness/world.
 *
 * What they carry is tcp_stream.h. No call waits, except tcp_socket_begun().
 */
#ifndef HARNESS_WORLD_PROCESS_TCP_SOCKET_H
#define HARNESS_WORLD_PROCESS_TCP_SOCKET_H

struct sockaddr_in;

/* Listens at *at. With port 0: at any port, which is set there. -1: errno says why not. */
int tcp_socket_listen(struct sockaddr_in *at);
/* The next incoming connection, and the address that it comes from (may be NULL). -1: none; errno says why. */
int tcp_socket_accept(int listening_fd, struct sockaddr_in *from);

/* Starts to connect. -1: not possible; errno says why. */
int tcp_socket_begin(const struct sockaddr_in *to);
/* Has tcp_socket_begin() finished? Waits up to most_ms for that. Returns an errno, 0: connected; -1: not yet. */
int tcp_socket_begun(int fd, int most_ms);

#endif
