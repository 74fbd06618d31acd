/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradmark.h - libgradmark: the collectives, the parameter server and the models of gradmark, for programs of your own.
 *
 * C and C++. A job is a group of ranks, processes that mpirun, srun or gradmark launch started. What is collective is
 * called by all of them, in the same order, with equal sizes; what waits, waits at most GM_TIMEOUT_S for another rank,
 * or as many seconds as the environment's GRADMARK_TIMEOUT_S says. (A debugger, or ranks that compute longer between
 * two calls, want more.) One job may be open at a time in a process.
 *
 *     struct gm_job *job;
 *     gm_init(&job, NULL);                         // every rank
 *     gm_broadcast(job, param, n, 0);              // all begin alike
 *     gm_allreduce(job, grad, n, GM_AVERAGE);      // in every step
 *     gm_finalize(&job);
 *
 * Functions that can fail return an enum gm_error; gm_message() says what happened.
 *
 * Invariants
 *   I1  An error is returned. The library prints nothing, ends no process, calls neither exit() nor MPI_Abort(), and
 *       leaves the caller's communicator and its error handler as they were once the job is finalised.
 *   I2  GM_INVAL is found before anything is sent: arguments are as they were, and the job goes on. After another error
 *       of a collective call the job has failed: the calls of all other ranks that wait return GM_PEER, as do all
 *       later ones; gm_finalize() remains to be called, and its message tells which rank failed first.
 *       After GM_TIMEOUT of gm_init() or gm_finalize(), whose ranks did not all come, MPI may still wait for these: I1
 *       does not hold for the communicator, an MPI that gm_init() initialised is not finalised, and the program
 *       should end; MPI_Abort() ends that of a caller's MPI.
 *       Under gradmark launch a rank's standard input belongs to the launcher: the program calls gm_init() before it
 *       reads there, and finds nothing behind it. The end of the launcher ends the process.
 *   I3  Every rank has the same bits after gm_allreduce(), gm_broadcast() and gm_allgather(), in every run.
 *   I4  The calls are those of `gradmark train`: ring, parameter server, optimiser and models of one kind, no other
 *       implementations. W ranks that average gradients of B samples take the step of one rank with W B samples, but
 *       for rounding.
 *   I5  One thread, the one that called gm_init(), makes all calls with a job and with what was opened of it. A plain
 *       MPI_Init() is enough. Arrays may begin anywhere a float can; no two arguments of a call overlap.
 *   I6  *out is written on success alone. Closing accepts a pointer to NULL, and nulls.
 *   I7  The ranks compare each collective call after gm_init(): the function, n (or n_params), op, root and n_servers;
 *       gm_ps_open() also the rule and the consistency. If these differ, the job fails with GM_MISMATCH at once. The
 *       message names what two ranks called. A rank whose part of the call needs nothing of the others may return
 *       GM_OK; its next call fails. Not compared: lr, the rule of a gm_sgd, and the calls of workers and servers
 *       between gm_ps_open() and gm_ps_close(). A rank that makes no call is waited for: GM_TIMEOUT.
 */
#ifndef GRADMARK_H
#define GRADMARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gm_error {
    GM_OK = 0,
    GM_NOMEM = -1,       /* out of memory */
    GM_INVAL = -2,       /* an argument is wrong: the message says which, and what would be right */
    GM_IO = -3,          /* a file */
    GM_TIMEOUT = -4,     /* another rank did not answer in time */
    GM_PEER = -5,        /* another rank failed, or left */
    GM_UNSUPPORTED = -7, /* not built in, or not on this machine */
    GM_MISMATCH = -8,    /* ranks disagree: in what they call, or how much */
    GM_BUG = -9          /* of the library */
};

enum { GM_TIMEOUT_S = 60 };

/* "GM_PEER"; never NULL. */
const char *gm_error_name(int error);
/* Of the last error of this thread; "" if there was none. Lent until the next call. */
const char *gm_message(void);
/* Version of the library, such as "0.2.0". */
const char *gm_version(void);
/* Is MPI built in? Without it only gradmark launch starts jobs of several ranks. */
int gm_has_mpi(void);

/* --- the job --- */

struct gm_job;

/* Collective. mpi_comm: address of an MPI_Comm whose ranks the job has, in an MPI that the caller has initialised;
 * it lasts until gm_finalize(). NULL: MPI_COMM_WORLD, and MPI is initialised here and finalised by gm_finalize(),
 * unless the caller has done so. A program that no launcher started is a job of one rank. Processes of gradmark launch
 * are a job without MPI, one in the life of a process. Without MPI (gm_has_mpi()): one rank, or those of gradmark
 * launch; GM_UNSUPPORTED where mpi_comm is given, or where mpirun or srun started several processes. GM_INVAL: MPI is
 * not initialised, or is over; torchrun or another launcher without MPI started several processes; mpi_comm is given
 * under gradmark launch; another job is open in this process; GRADMARK_TIMEOUT_S is no number of seconds from 1 to
 * 86400. GM_TIMEOUT: the others did not call it.
 * (MPI itself, where it is initialised here, waits for processes of the launcher as long as the launcher does.)
 */
int gm_init(struct gm_job **out, const void *mpi_comm);
/* Collective: waits for all ranks. What was opened of the job is closed before. The first failure of any rank, if there
 * was one. GM_TIMEOUT: not all ranks called it. */
int gm_finalize(struct gm_job **job);
int gm_rank(const struct gm_job *job);
int gm_size(const struct gm_job *job);
/* Among the ranks of this host. */
int gm_local_rank(const struct gm_job *job);
int gm_local_size(const struct gm_job *job);

/* --- collectives --- */

enum gm_op { GM_SUM, GM_AVERAGE };

/* data[n] := the sum, or the average, over all ranks. Collective. */
int gm_allreduce(struct gm_job *job, float *data, size_t n, enum gm_op op);
/* data[n] := that of rank root. Collective. */
int gm_broadcast(struct gm_job *job, float *data, size_t n, int root);
/* out[size][n] := in[n] of rank 0, of rank 1, ... Collective. */
int gm_allgather(struct gm_job *job, const float *in, size_t n, float *out);
/* Returns when all ranks have called it. Collective. */
int gm_barrier(struct gm_job *job);

/* --- a step of distributed SGD --- */

/* How a gradient changes the parameters p. d = mean over ranks of grad + weight_decay p; all arrays begin at 0, but for
 * that of GM_ADAGRAD.
 *   GM_SGD      v = momentum v + d; p -= lr v
 *   GM_ADAGRAD  s += d d, s begins at initial; p -= lr d / (sqrt(s) + epsilon)
 *   GM_ADAM     m = beta1 m + (1 - beta1) d, v = beta2 v + (1 - beta2) d d; p -= lr m' / (sqrt(v') + epsilon), with
 *               m' = m / (1 - beta1^t), v' = v / (1 - beta2^t) in update t, the first being 1 */
enum gm_optimizer { GM_SGD, GM_ADAGRAD, GM_ADAM };
struct gm_rule {
    enum gm_optimizer optimizer;
    double weight_decay;
    double momentum;     /* of GM_SGD alone */
    double epsilon;      /* of GM_ADAGRAD and GM_ADAM; above 0 */
    double initial;      /* of GM_ADAGRAD */
    double beta1, beta2; /* of GM_ADAM */
};
/* As `gradmark train --optimizer` has it where nothing more is given; without momentum and weight decay. */
struct gm_rule gm_rule_of(enum gm_optimizer optimizer);

struct gm_sgd;

/* Of n_params parameters, by GM_SGD. Not collective. GM_INVAL: momentum is not in [0, 1). */
int gm_sgd_open(struct gm_sgd **out, struct gm_job *job, size_t n_params, float momentum, float weight_decay);
/* The same by any rule, which is copied. GM_INVAL: what of it is out of range. */
int gm_sgd_open_rule(struct gm_sgd **out, struct gm_job *job, size_t n_params, const struct gm_rule *rule);
/* param[n_params] := after a step with this rank's grad[n_params], which is read only. Collective. */
int gm_sgd_step(struct gm_sgd *sgd, float *param, const float *grad, float lr);
void gm_sgd_close(struct gm_sgd **sgd);

/* --- parameter server --- */

struct gm_ps;

/* The last n_servers ranks are servers, each with a part of the parameters; the others workers. param[n_params] of rank
 * 0 is what all begin with. consistency: "async" (NULL: this), nobody waits for anybody; "sync", a push is answered
 * when the step of all workers is averaged and applied; "ssp:S", nobody is more than S steps ahead. momentum: of the
 * servers. Collective. GM_INVAL: no worker would be left; there are less parameters than servers. */
int gm_ps_open(struct gm_ps **out, struct gm_job *job, const float *param, size_t n_params, int n_servers,
               float momentum, const char *consistency);
/* The same, where servers update by any rule, which is copied. GM_INVAL: what of it is out of range, too. */
int gm_ps_open_rule(struct gm_ps **out, struct gm_job *job, const float *param, size_t n_params, int n_servers,
                    const struct gm_rule *rule, const char *consistency);
int gm_ps_is_server(const struct gm_ps *ps);
int gm_ps_n_workers(const struct gm_ps *ps);
/* Of a server: applies what workers push, until all of them have closed. */
int gm_ps_serve(struct gm_ps *ps);
/* Of a worker: send grad[n_params], to be applied with rate lr, and take the answer: the parameters then. */
int gm_push(struct gm_ps *ps, const float *grad, float lr);
/* param[n_params] := the answer to this worker's last push; before the first: what all begin with. Sends nothing. */
int gm_pull(struct gm_ps *ps, float *param);
/* Updates by others between this worker's last two pulls that its push did not know of: the largest of all servers. */
unsigned gm_ps_staleness(const struct gm_ps *ps);
/* Of a worker: no more pushes. On rank 0, which waits for the others, final_param[n_params] := what the servers hold at
 * the end; may be NULL, and is not written elsewhere. Of a server: its part is freed. Nulls in any case. GM_PEER: the
 * job has failed. */
int gm_ps_close(struct gm_ps **ps, float *final_param);

/* --- models with data --- */

struct gm_model;

/* name: as `gradmark help train` lists them under --model ("linear", "lenet", ...). data: a path as --data takes it;
 * NULL: the model's own (line, digits, synthetic images). Sample number i of the training data is a pure function of
 * (seed, i), equal on all ranks, and each sample comes once an epoch. max_batch: of gm_model_gradient(). Not
 * collective. GM_INVAL: no such model, or data that do not suit it; GM_IO. */
int gm_model_open(struct gm_model **out, const char *name, const char *data, size_t max_batch, uint64_t seed);
size_t gm_model_n_params(const struct gm_model *model);
size_t gm_model_n_samples(const struct gm_model *model); /* of an epoch */
/* param[n_params] := initial values, drawn from seed. */
int gm_model_init(struct gm_model *model, uint64_t seed, float *param);
/* Forward and backward: *loss := the mean over samples first .. first + n - 1, grad[n_params] := its gradient. */
int gm_model_gradient(struct gm_model *model, const float *param, uint64_t first, size_t n, float *grad, double *loss);
/* Forward alone, over the test set (linear: over all samples); accuracy: share classified right, NaN for linear. Either
 * may be NULL. */
int gm_model_evaluate(struct gm_model *model, const float *param, double *loss, double *accuracy);
void gm_model_close(struct gm_model **model);

/* x[n], y[n] := the first n <= 1000 samples of `line`, y = 2 x + U(-0.5, 0.5), drawn from seed. */
int gm_line(float *x, float *y, size_t n, uint64_t seed);

/* --- what lessons read --- */

/* A line more of path_<rank>.csv in this folder: what a step begins with, and how many calls have combined values of
 * all ranks (gm_allreduce, gm_allgather, gm_sgd_step) and broadcast so far. gradmark lab --check reads it. GM_IO. */
int gm_note(struct gm_job *job, size_t step, float lr, double loss, const float *param, size_t n_params);

#ifdef __cplusplus
}
#endif

#endif
