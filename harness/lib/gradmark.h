/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradmark.h - libgradmark: gradmark's collectives, parameter server and models, for use in other programs.
 *
 * C and C++. A job is a group of ranks: processes started by mpirun, srun or gradmark launch. A collective function
 * must be called by all ranks, in the same order, with equal sizes. A function that waits for another rank waits at
 * most GM_TIMEOUT_S, or the seconds in the environment's GRADMARK_TIMEOUT_S. (Raise it for a debugger, or for ranks
 * that compute longer between two calls.) One job may be open at a time in a process.
 *
 *     struct gm_job *job;
 *     gm_init(&job, NULL);                         // every rank
 *     gm_broadcast(job, param, n, 0);              // all begin alike
 *     gm_allreduce(job, grad, n, GM_AVERAGE);      // in every step
 *     gm_finalize(&job);
 *
 * Functions that can fail return an enum gm_error; gm_message() describes the failure.
 *
 * Invariants
 *   I1  An error is returned. The library prints nothing and ends no process: it calls neither exit() nor MPI_Abort().
 *       After the job is finalised, the caller's communicator and its error handler are as before.
 *   I2  GM_INVAL is detected before anything is sent: arguments are unchanged, and the job continues. After any other
 *       error of a collective call the job has failed. The waiting calls of all other ranks return GM_PEER, and so do
 *       all later calls. The program must still call gm_finalize(); its message names the rank that failed first.
 *       GM_TIMEOUT of gm_init() or gm_finalize() means that not all ranks called it, and MPI may still wait for these.
 *       Then I1 does not hold for the communicator, and an MPI that gm_init() initialised is not finalised. The program
 *       should end, with MPI_Abort() if the caller initialised MPI. Under gradmark launch a rank's standard input
 *       belongs to the launcher. The program calls gm_init() before it reads from it, and finds no data after that. The
 *       end of the launcher ends the process.
 *   I3  After gm_allreduce(), gm_allreduce_into(), gm_broadcast() and gm_allgather() every rank has the same bits, in
 *       every run.
 *   I4  The calls run the implementations of `gradmark train`: its ring, parameter server, optimiser and models. W
 *       ranks that average gradients of B samples take the step of one rank with W B samples, except for rounding.
 *   I5  One thread, the one that called gm_init(), makes all calls on a job and on objects opened from it. A plain
 *       MPI_Init() is enough. Arrays need only the alignment of float; no two arguments of a call overlap.
 *   I6  *out is written only on success. Close functions accept a pointer to NULL, and set the pointer to NULL.
 *   -   The ranks compare each collective call after gm_init(): the function, n (or n_params), op, root and n_servers;
 *       for gm_ps_open() also the rule and the consistency. If these differ, the job fails with GM_MISMATCH at once.
 *       The message names what two ranks called. A rank whose part of the call needs nothing from other ranks may
 *       return GM_OK; its next call fails. Not compared: lr, the rule of a gm_sgd, and the calls of workers and servers
 *       between gm_ps_open() and gm_ps_close(). If a rank makes no call, the other ranks wait and get GM_TIMEOUT.
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
    GM_INVAL = -2,       /* an argument is wrong: the message names it, and valid values */
    GM_IO = -3,          /* a file error */
    GM_TIMEOUT = -4,     /* another rank did not answer in time */
    GM_PEER = -5,        /* another rank failed, or left */
    GM_UNSUPPORTED = -7, /* not built in, or not on this machine */
    GM_MISMATCH = -8,    /* ranks disagree about the function or its size */
    GM_BUG = -9          /* an error in the library itself */
};

enum { GM_TIMEOUT_S = 60 };

/* "GM_PEER"; never NULL. */
const char *gm_error_name(int error);
/* Message of this thread's last error; "" if there was none. Valid until the next call. */
const char *gm_message(void);
/* Version of the library, such as "0.2.0". */
const char *gm_version(void);
/* Is MPI built in? Without it only gradmark launch can start jobs of several ranks. */
int gm_has_mpi(void);

/* --- the job --- */

struct gm_job;

/* Collective. mpi_comm: address of an MPI_Comm with the job's ranks, in an MPI that the caller has initialised; it must
 * stay valid until gm_finalize(). NULL: MPI_COMM_WORLD; MPI is initialised here and finalised by gm_finalize(), unless
 * the caller has initialised it. Without a launcher the job has one rank. Processes of gradmark launch form a job
 * without MPI, once per process. Without MPI (gm_has_mpi()): one rank, or the ranks of gradmark launch. GM_UNSUPPORTED
 * then if mpi_comm is given, or if mpirun or srun started several processes. GM_INVAL if: MPI is not initialised, or is
 * finalised; torchrun or another launcher without MPI started several processes; mpi_comm is given under gradmark
 * launch; another job is open in this process; GRADMARK_TIMEOUT_S is not a number of seconds from 1 to 86400.
 * GM_TIMEOUT: not all ranks called it. (If MPI is initialised here, MPI itself waits for the launcher's processes as
 * long as the launcher does.) */
int gm_init(struct gm_job **out, const void *mpi_comm);
/* Collective: waits for all ranks. Close everything opened from the job first. Returns the first failure of any rank,
 * if there was one. GM_TIMEOUT: not all ranks called it. */
int gm_finalize(struct gm_job **job);
int gm_rank(const struct gm_job *job);
int gm_size(const struct gm_job *job);
/* Rank and number of ranks on this host. */
int gm_local_rank(const struct gm_job *job);
int gm_local_size(const struct gm_job *job);

/* --- collectives --- */

enum gm_op { GM_SUM, GM_AVERAGE };

/* data[n] := the sum, or the average, over all ranks. Collective. */
int gm_allreduce(struct gm_job *job, float *data, size_t n, enum gm_op op);
/* out[n] := the same of in[n], which is only read: faster than a copy and gm_allreduce(), with the same bits. All ranks
 * call the same of the two functions. GM_INVAL: the arrays overlap. Collective. */
int gm_allreduce_into(struct gm_job *job, const float *in, size_t n, float *out, enum gm_op op);
/* data[n] := data[n] of rank root. Collective. */
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
/* The defaults of `gradmark train --optimizer`; without momentum and weight decay. */
struct gm_rule gm_rule_of(enum gm_optimizer optimizer);

struct gm_sgd;

/* GM_SGD for n_params parameters. Not collective. GM_INVAL: momentum is not in [0, 1). */
int gm_sgd_open(struct gm_sgd **out, struct gm_job *job, size_t n_params, float momentum, float weight_decay);
/* The same for any rule, which is copied. GM_INVAL: a value is out of range; the message names it. */
int gm_sgd_open_rule(struct gm_sgd **out, struct gm_job *job, size_t n_params, const struct gm_rule *rule);
/* Update param[n_params] by one step with this rank's grad[n_params], which is only read. Collective. */
int gm_sgd_step(struct gm_sgd *sgd, float *param, const float *grad, float lr);
void gm_sgd_close(struct gm_sgd **sgd);

/* --- parameter server --- */

struct gm_ps;

/* The last n_servers ranks become servers, each with a part of the parameters; the other ranks are workers. All start
 * with param[n_params] of rank 0. consistency: "async" (also NULL): no rank waits for another. "sync": a push is
 * answered when the step of all workers is averaged and applied. "ssp:S": no worker is more than S steps ahead.
 * momentum: of the servers. Collective. GM_INVAL: no worker would be left; there are fewer parameters than servers. */
int gm_ps_open(struct gm_ps **out, struct gm_job *job, const float *param, size_t n_params, int n_servers,
               float momentum, const char *consistency);
/* The same; servers update by any rule, which is copied. GM_INVAL also: a value of the rule is out of range. */
int gm_ps_open_rule(struct gm_ps **out, struct gm_job *job, const float *param, size_t n_params, int n_servers,
                    const struct gm_rule *rule, const char *consistency);
int gm_ps_is_server(const struct gm_ps *ps);
int gm_ps_n_workers(const struct gm_ps *ps);
/* Server: apply the workers' pushes until all workers have closed. */
int gm_ps_serve(struct gm_ps *ps);
/* Worker: send grad[n_params], to be applied with rate lr, and receive the reply: the parameters after that. */
int gm_push(struct gm_ps *ps, const float *grad, float lr);
/* param[n_params] := the reply to this worker's last push; before the first push: the initial parameters. Sends
 * nothing. */
int gm_pull(struct gm_ps *ps, float *param);
/* Updates by other workers between this worker's last two pulls that its push did not include: the maximum over
 * servers. */
unsigned gm_ps_staleness(const struct gm_ps *ps);
/* Worker: end of its pushes. On rank 0, which waits for all other workers, final_param[n_params] := the servers' final
 * parameters; may be NULL, and is not written on other ranks. Server: its part is freed. Sets *ps to NULL in any case.
 * GM_PEER: the job has failed. */
int gm_ps_close(struct gm_ps **ps, float *final_param);

/* --- models with data --- */

struct gm_model;

/* name: a value of --model in `gradmark help train` ("linear", "lenet", ...). data: a path as for --data; NULL: the
 * model's default (line, digits, synthetic images). Sample i of the training data is a pure function of (seed, i),
 * equal on all ranks, and each sample occurs once per epoch. max_batch: of gm_model_gradient(). Not collective.
 * GM_INVAL: no such model, or the data do not fit it; GM_IO. */
int gm_model_open(struct gm_model **out, const char *name, const char *data, size_t max_batch, uint64_t seed);
size_t gm_model_n_params(const struct gm_model *model);
size_t gm_model_n_samples(const struct gm_model *model); /* in an epoch */
/* param[n_params] := initial values, drawn from seed. */
int gm_model_init(struct gm_model *model, uint64_t seed, float *param);
/* Forward and backward: *loss := the mean over samples first .. first + n - 1, grad[n_params] := its gradient. */
int gm_model_gradient(struct gm_model *model, const float *param, uint64_t first, size_t n, float *grad, double *loss);
/* Forward only, over the test set (linear: over all samples); accuracy: share of correct classifications, NaN for
 * linear. Either may be NULL. */
int gm_model_evaluate(struct gm_model *model, const float *param, double *loss, double *accuracy);
void gm_model_close(struct gm_model **model);

/* x[n], y[n] := the first n <= 1000 samples of `line`, y = 2 x + U(-0.5, 0.5), drawn from seed. */
int gm_line(float *x, float *y, size_t n, uint64_t seed);

/* --- what lessons read --- */

/* Append a line to path_<rank>.csv in this folder: the values at the start of a step, and the number of calls so far.
 * Counted are calls that combine values of all ranks (gm_allreduce, gm_allreduce_into, gm_allgather, gm_sgd_step), and
 * broadcasts. Read by gradmark lab --check. GM_IO. */
int gm_note(struct gm_job *job, size_t step, float lr, double loss, const float *param, size_t n_params);

#ifdef __cplusplus
}
#endif

#endif
