/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_protocol.h - what the processes of a gang and the hub, a thread of the process of rank 0, tell each other.
 * Private to harness/world/tcp. Messages are those of tcp_stream.h; numbers are little-endian.
 *
 * Invariants
 *   G1  Nothing but TCP_HELLO is taken from who is no member yet, of at most TCP_HELLO_MOST_BYTES. A member is one
 *       connection, the first that says it is that rank. Nobody without the key of the run (tcp_stream.N1) takes the
 *       place of who has it, on its way to be a member: of those who have not shown it the hub keeps so many, and drops
 *       the oldest of the address that has most. A member that is dropped before its hello was read comes again.
 *   G2  Nobody gets TCP_GO before all members are there. Else all that are get TCP_STOP, which names who is missing.
 *   G3  A rank has one call under way. One call of a world ends equally on all its ranks that are not lost: the hub
 *       answers when all have called, or with the loss of one of them, or with what they disagree on.
 *   G4  The first failure is the run's; the hub tells it to all members. A connection that ends without TCP_LEAVE is
 *       one: of its rank (W5), or is that rank's loss where losses are reported (W8).
 *       Until all have called TCP_BEGIN, by which the world is open on every rank, it is a failure there, too: nobody
 *       could go on alone from the middle of that. Before TCP_GO it is one that all get TCP_STOP for.
 *   G5  A guest (world.W9) says hello as TCP_GUEST_RANK. It gets the least number that nobody has had, once rank 0 has
 *       opened the doors; it is in when all hosts of guests that are not lost, hosts being the servers of world_opts,
 *       know of it. Before that nobody waits for it. Its number is gone with its connection.
 *   G6  A guest hears of each member's loss (W8) once: of those before its TCP_WELCOME right behind that, and so before
 *       TCP_READY and before the hub answers anything that it says.
 *   G7  Nobody waits for ever for who said hello and says no more: between TCP_GO and TCP_BEGIN the hub fails the run
 *       TCP_GRACE_NS after the time that the gang has to begin, and a member does so for rank 0 as much later. After
 *       TCP_BEGIN ranks watch each other (W5).
 *
 *   message      from       body
 *   TCP_HELLO    a member   its rank 4, n_ranks 4, on_loss 4, place TCP_PLACE_BYTES, GRADMARK_GANG_MEMBERS as text
 *   TCP_STOP     the hub    code 4 (enum rc), text: who is missing or lost, or why the member is refused
 *   TCP_GO       the hub    for each rank 4: the lowest rank of its host
 *   TCP_PING     a member   nothing; number: any
 *   TCP_PONG     the hub    the clock of its host 8; number: as asked
 *   TCP_CALL     a member   world 4, operation 4, n_bytes_each 8, input; number: of the call
 *   TCP_RESULT   the hub    code 4, lost rank or -1 4, text of an error or output; number: of the call
 *   TCP_CLOSE    a member   world 4: it uses it no more
 *   TCP_FAIL     both       rank 4, code 4, text
 *   TCP_LEAVE    a member   nothing: all it had to do is done
 *   TCP_DOORS    rank 0     what a guest is to know
 *   TCP_WELCOME  the hub    to a guest: its number 4, n_ranks 4, length of the run's identity 4, this, what rank 0 said
 *   TCP_ENTER    a guest    what hosts are to know of it
 *   TCP_GUEST    the hub    to all members: number 4, enum tcp_guest_state 4, of TCP_GUEST_CAME what it said
 *   TCP_HOSTED   a host     number 4: it knows
 *   TCP_READY    the hub    to a guest: all hosts know
 *   TCP_LOST     the hub    to a guest: the rank 4 of a member that is lost, text: why
 *   TCP_BEAT     a guest    signs of life so far 8
 *   TCP_HALT     the hub    to guests: the signal 4 for which the run stops
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
    TCP_SPLIT,     /* input: color 4, key 4; output: as TCP_SURVIVORS, or nothing where color is below 0 */
    TCP_SURVIVORS, /* output: world 4, busy ranks of the host 4, and of each rank its number in the run 4 */
    TCP_BEGIN,     /* of the run's world, the last call of those that open it: as a barrier */
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

/* What the hub may need longer than a member that came at its limit. */
#define TCP_GRACE_NS UINT64_C(10000000000)
/* Of a rank, with the seconds (G7). */
#define TCP_SILENT_WHY "silent for more than %.3g s after it came"

#define TCP_HELLO_MOST_BYTES ((size_t)1 << 24)
/* Of a member, which has the key: a part of memory that no machine has. */
#define TCP_MOST_BYTES ((size_t)1 << 44)

#endif
