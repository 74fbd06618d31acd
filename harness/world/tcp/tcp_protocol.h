/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_protocol.h - the messages between the processes of a group (gang.h) and the hub, a thread of the process of rank
 * 0. Private to harness/world/tcp. Messages are those of tcp_stream.h; numbers are little-endian.
 *
 * Invariants
 *   G1  From a connection that is not a member yet, the hub takes only TCP_HELLO, of at most TCP_HELLO_MOST_BYTES. A
 *       member is one connection, the first that says it is that rank. A process without the key of the run
 *       (world.N1) cannot displace one that has it and is about to become a member. The hub keeps a limited number
 *       of connections that have not shown the key, and drops the oldest of the address with the most of them. A member
 *       that is dropped before its hello was read connects again.
 *   G2  No process gets TCP_GO before all members are present. Otherwise the members that are present get TCP_STOP,
 *       which names the missing ones.
 *   G3  A rank has one outstanding call. A call of a world ends equally on all its ranks that are not lost: the hub
 *       answers when all have called, or with the loss of one of them, or with their disagreement.
 *   G4  The first failure is the run's; the hub reports it to all members. If a connection ends without TCP_LEAVE, that
 *       is a failure of its rank (world.W5), or the loss of that rank if losses are reported (world.W8).
 *       Until all have called TCP_BEGIN, which shows that the world is open on every rank, such an end always fails the
 *       run: no rank could continue alone at that point. Before TCP_GO every member gets TCP_STOP for it.
 *   G5  A late joiner (world.W9) says hello as TCP_GUEST_RANK. It gets the least number that no rank has had, once rank
 *       0 has opened the run to late joiners. It is in when all its hosts that are not lost know of it; the hosts are
 *       the servers of world_opts. Before that no rank waits for it. Its number is never used again after its
 *       connection.
 *   G6  A late joiner learns of each member's loss (world.W8) once. Earlier losses follow its TCP_WELCOME directly, so
 *       they come before TCP_READY and before the hub answers anything that the late joiner sends.
 *   G7  No rank waits for ever for a rank that said hello and then nothing more. Between TCP_GO and TCP_BEGIN the hub
 *       fails the run TCP_GRACE_NS after the time that the group has to begin. A member does the same for rank 0,
 *       TCP_GRACE_NS later. After TCP_BEGIN ranks watch each other (world.W5).
 *
 *   message      from       body
 *   TCP_HELLO    a member   its rank 4, n_ranks 4, on_loss 4, place TCP_PLACE_BYTES, GRADMARK_GANG_MEMBERS as text
 *   TCP_STOP     the hub    code 4 (enum rc), text: the missing or lost member, or why this member is refused
 *   TCP_GO       the hub    for each rank 4: the lowest rank of its host
 *   TCP_PING     a member   nothing; number: any
 *   TCP_PONG     the hub    the clock of its host 8; number: that of the PING
 *   TCP_CALL     a member   world 4, operation 4, n_bytes_each 8, input; number: of the call
 *   TCP_RESULT   the hub    code 4, lost rank or -1 4, text of an error or output; number: of the call
 *   TCP_CLOSE    a member   world 4: the member uses it no more
 *   TCP_FAIL     both       rank 4, code 4, text
 *   TCP_LEAVE    a member   nothing: all its work is done
 *   TCP_DOORS    rank 0     the data for late joiners
 *   TCP_WELCOME  the hub    to a late joiner: its number 4, n_ranks 4, length of the run's identity 4, the identity,
 *                           the data of TCP_DOORS
 *   TCP_ENTER    late       the data for its hosts
 *                joiner
 *   TCP_GUEST    the hub    to all members: number 4, enum tcp_guest_state 4, for TCP_GUEST_CAME the data of TCP_ENTER
 *   TCP_HOSTED   a host     number 4: it knows of that late joiner
 *   TCP_READY    the hub    to a late joiner: all hosts know
 *   TCP_LOST     the hub    to a late joiner: the rank 4 of a lost member, text: why
 *   TCP_BEAT     late       signs of life so far 8
 *                joiner
 *   TCP_HALT     the hub    to late joiners: the signal 4 that stops the run
 */
#ifndef HARNESS_WORLD_TCP_TCP_PROTOCOL_H
#define HARNESS_WORLD_TCP_TCP_PROTOCOL_H

#include <stdint.h>

enum tcp_message_type {
    TCP_HELLO = 1,
    TCP_STOP,
    TCP_GO,
    TCP_PING,
    TCP_PONG,
    TCP_CALL,
    TCP_RESULT,
    TCP_CLOSE,
    TCP_FAIL,
    TCP_LEAVE,
    TCP_DOORS,
    TCP_WELCOME,
    TCP_ENTER,
    TCP_GUEST,
    TCP_HOSTED,
    TCP_READY,
    TCP_BEAT,
    TCP_HALT,
    TCP_LOST,
};

enum tcp_guest_state { TCP_GUEST_CAME, TCP_GUEST_LEFT, TCP_GUEST_LOST, TCP_GUEST_SILENT };

#define TCP_GUEST_RANK UINT32_MAX

enum tcp_operation {
    TCP_BARRIER,
    TCP_ALLGATHER,
    TCP_GATHER,    /* output on rank 0 alone */
    TCP_BROADCAST, /* input of rank 0 alone */
    TCP_SPLIT,     /* input: color 4, key 4; output: as TCP_SURVIVORS, or nothing if color is below 0 */
    TCP_SURVIVORS, /* output: world 4, busy ranks of the host 4, and for each rank its number in the run 4 */
    TCP_BEGIN,     /* on the run's world, the last call of its opening: a barrier */
    TCP_N_OPERATIONS
};

enum {
    TCP_PLACE_BYTES = 64,
    TCP_HELLO_FIXED_BYTES = 12 + TCP_PLACE_BYTES,
    TCP_CALL_FIXED_BYTES = 16,
    TCP_RESULT_FIXED_BYTES = 8,
    TCP_FAIL_FIXED_BYTES = 8,
    TCP_PART_FIXED_BYTES = 8,
    TCP_WELCOME_FIXED_BYTES = 12,
    TCP_GUEST_FIXED_BYTES = 8,
    TCP_LOST_FIXED_BYTES = 4,
    TCP_NO_WORLD = 0, /* no world of a run has this id; the run's own is 1 */
    TCP_RUN_WORLD = 1,
};

/* The hub's extra time for a member that came at its limit. */
#define TCP_GRACE_NS UINT64_C(10000000000)
/* The reason for the failure of a rank, with the seconds (world.G7). */
#define TCP_SILENT_WHY "silent for more than %.3g s after it came"

#define TCP_HELLO_MOST_BYTES ((size_t)1 << 24)
/* From a member, which has the key: more than the memory of any machine. */
#define TCP_MOST_BYTES ((size_t)1 << 44)

#endif
