/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - without replicas: each server writes its slice to a file from time to time. If it is lost, its standby
 * (replica.h) continues from that file. Later updates are rolled back, and counted. Private to server*.c.
 *
 * File FOLDER/server-S, little-endian: magic "GMSS0003", u64 layout (layout.h), n_batches, n_updates_before, n_moments;
 * per piece u64 clock, and a row: u64 round and u64[n_workers], the clock of each worker (clocks.h);
 * u64[n_workers]: whether each worker sends nothing more. An elastic run has the words of a copy (copy_words.h) instead
 * of the clocks. Then float32 parameters, and the optimiser's arrays; then the SHA-256 of all before it. A file of
 * another version is refused.
 *
 * File FOLDER/server-S.clocks, with ssp and sync: u64 layout; per piece a row with the current clocks.
 *
 * Invariants
 *   N1  A snapshot is written whole or not at all (file.h). It is read only if every byte is as it was written.
 *   N2  A server writes one before the first step, which replaces any of an earlier run. Then it writes one whenever
 *       each of its pieces has had snapshot_every more updates on average, between two requests. Its workers wait
 *       meanwhile.
 *   N3  A worker's push is of the step that comes next in the snapshot, or of a later one. The steps between are rolled
 *       back. They were answered, and count as steps of that worker, and in the piece's clock (wire.P2), but are not in
 *       the parameters. A push of the step before is in the snapshot already, and is only answered.
 *   N4  With async no worker waits for another one, so no worker's clock delays another one.
 *   N5  With async the number of rolled-back pushes is known for each remaining worker: from its next push of each
 *       piece, or from its LEAVE, which says how many pushes it has sent to the slice.
 *   N6  With ssp and sync, workers wait for each other's steps. So the clocks are those of the lost server, not of the
 *       snapshot: the server writes the row of a piece in place before it answers a push (ssp) or a round (sync) that
 *       the row counts. So no worker waits for a step that is done. The difference of the two was rolled back: pushes,
 *       or rounds. A worker whose gradient was kept for a round and not applied pushes it again, as it has no answer.
 *       What a process has written survives its death. If a host dies, a row may be older; then a push of a step beyond
 *       the round is refused.
 *   N7  A snapshot of an elastic run (async) has what a copy to a new standby has (copy.Y4 to Y7), of one moment: the
 *       batches whose gradients each part has, the work queue with slice 0, and the answers to workers. So a batch
 *       whose gradient was rolled back in a part is missing there, and is assigned again (audit.h, leases.B12). A batch
 *       in the snapshot still counts, and its repeated gradients are dropped (leases.B4). Nothing waits in it: async
 *       keeps no gradient, and a NEXT that waited counts as not sent until it is sent again.
 *   N8  A worker leaves an elastic run slice by slice, slice 0 last (sync_ps.c). It may be gone when a server that has
 *       answered it is lost. So a server that continues from a snapshot of slice S assumes that a worker has left S if
 *       it has left the server's own slice by then. If the own slice is slice 0, the worker may leave it at any time.
 *       If the worker has not left S, its LEAVE is answered.
 */
#ifndef PS_SNAPSHOT_H
#define PS_SNAPSHOT_H

#include "ps/server_state.h"

/* Closes a server's file of clocks; does nothing if zeroed. */
void snapshot_close(struct ps_server *s);
/* N6: writes the row of piece k. Does nothing with async or without snapshots. RC_IO: names the file. */
enum rc snapshot_note(struct ps_server *s, size_t k) MUST_CHECK;
/* Writes the first snapshot (N2). Does nothing if env.snapshots is NULL. Errors name the file: RC_INVAL, RC_IO. */
enum rc snapshot_begin(struct ps_server *s) MUST_CHECK;
/* Writes a snapshot now. Errors likewise. */
enum rc snapshot_write(struct ps_server *s) MUST_CHECK;
/* Writes a snapshot if it is due. Errors likewise. */
enum rc snapshot_if_due(struct ps_server *s) MUST_CHECK;
/* Restores s, the slice of a lost server, from its file. Errors: RC_INVAL if it is damaged or of another run; RC_IO. */
enum rc snapshot_restore(struct ps_server *s) MUST_CHECK;
/* N3: worker w pushes this step of piece k, which is valid. */
void snapshot_catch_up(struct ps_server *s, int w, size_t k, uint32_t step);
/* N5: worker w has left, and had sent n_pushed pushes to the slice. */
void snapshot_end_worker(struct ps_server *s, int w, uint64_t n_pushed);

#endif
