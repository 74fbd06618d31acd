/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - without replicas: each server writes its slice to a file from time to time, and its heir (replica.h),
 * when it is lost, goes on from that. What came behind it is rolled back, and counted. Of server*.c alone.
 *
 * File FOLDER/server-S: little-endian: magic "GMSS0003", u64 layout (layout.h), n_batches, n_updates_before, n_moments;
 * of each piece u64 clock, and a row: u64 round and u64[n_workers], the clock of each worker (clocks.h);
 * u64[n_workers]: whether each sends nothing more; of an elastic run in place of these the words of a copy
 * (copy_words.h); then float32 parameters, and the optimiser's arrays; then the SHA-256 of all before it. A file of
 * another version is refused.
 *
 * File FOLDER/server-S.clocks, of ssp and sync: u64 layout; of each piece a row, as it is now.
 *
 * Invariants
 *   N1  Written whole or not at all (file.h), and read only if every byte is as it was written.
 *   N2  A server writes one before the first step, in place of what an earlier run may have left; then one whenever
 *       each of its pieces has had snapshot_every updates more, in the mean, between two requests: its workers wait so
 *       long.
 *   N3  A worker's push is of the step that comes next in the snapshot, or of a later one: those between are rolled
 *       back. They were answered, and count as steps of that worker, and in the piece's clock (wire.P2), but not in its
 *       parameters. A push of the step before is in the snapshot, and is answered alone.
 *   N4  With async nobody waits for another worker, so no worker's clock holds up another one.
 *   N5  How many were rolled back is known, with async, of each worker that is left: by its next push of each piece, or
 *       by its LEAVE, which says how many pushes it has sent to the slice.
 *   N6  With ssp and sync, where workers wait for each other's steps, the clocks are those of the lost server, not of
 *       the snapshot: it writes the row of a piece in place before it answers a push (ssp), or a round (sync), that the
 *       row counts. So nobody waits for a step that is done. What was rolled back is the difference of the two: pushes,
 *       or rounds. Whose gradient a round has kept and not applied pushes it again, as it has no answer.
 *       What a process has written is there when it dies; where a host dies, a row may be older. Then a push of a step
 *       beyond the round is refused.
 *   N7  Of an elastic run (async) a snapshot has what a copy to a new heir has (copy.Y4 to Y7): of which batches each
 *       part has the gradients, the book with slice 0, and what workers were answered; of one moment. So a batch whose
 *       gradient was rolled back with a part is missing in that part, and comes again (audit.h, leases.B12); one that
 *       the snapshot has counts as it did, and what comes of it again is dropped (leases.B4). Nothing waits in it: of
 *       async no gradient is kept, and a NEXT that waited counts as not sent until it is sent again.
 *   N8  A worker that leaves an elastic run leaves slice by slice, slice 0 last (sync_ps.c), and may be gone when a
 *       server is lost that has answered it. So who goes on from a snapshot of slice S takes each worker for one that
 *       has left S that has left its own slice by then, or, where that is slice 0, ever. If it has not, its LEAVE is
 *       answered.
 */
#ifndef PS_SNAPSHOT_H
#define PS_SNAPSHOT_H

#include "ps/server_state.h"

/* What of the file of clocks a server holds: zeroed, nothing. */
void snapshot_close(struct ps_server *s);
/* N6: the row of piece k. Nothing with async, and without snapshots. RC_IO: names the file. */
enum rc snapshot_note(struct ps_server *s, size_t k) MUST_CHECK;
/* Write the first one, N2. Nothing where env.snapshots is NULL. RC_INVAL, RC_IO: names the file. */
enum rc snapshot_begin(struct ps_server *s) MUST_CHECK;
/* Write one now. Likewise. */
enum rc snapshot_write(struct ps_server *s) MUST_CHECK;
/* Write one, if it is due. Likewise. */
enum rc snapshot_if_due(struct ps_server *s) MUST_CHECK;
/* s, of a lost server's slice, := what is in its file. RC_INVAL: it is damaged, or of another run; RC_IO. */
enum rc snapshot_restore(struct ps_server *s) MUST_CHECK;
/* N3: worker w pushes this step of piece k, which it has every right to. */
void snapshot_catch_up(struct ps_server *s, int w, size_t k, uint32_t step);
/* N5: worker w has left, and had sent so many pushes to the slice. */
void snapshot_end_worker(struct ps_server *s, int w, uint64_t n_pushed);

#endif
