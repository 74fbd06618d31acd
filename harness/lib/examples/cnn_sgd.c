/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cnn_sgd.c - lenet on handwritten digits, by averaged gradients or by a parameter server on the last rank.
 *
 *     cc cnn_sgd.c $(pkg-config --cflags --libs gradmark) -o cnn_sgd
 *     mpirun -n 2 ./cnn_sgd         # 2 workers
 *     mpirun -n 3 ./cnn_sgd ps      # 2 workers, 1 server
 */
#include <gradmark.h>
#include <stdio.h>
#include <stdlib.h>

enum { GLOBAL_BATCH = 64, N_STEPS = 60, SEED = 1 };

static void check(int error)
{
    if (error == GM_OK)
        return;
    fprintf(stderr, "cnn_sgd: %s: %s\n", gm_error_name(error), gm_message());
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    const int wants_server = argc > 1 && argv[1][0] == 'p';
    const float lr = 0.02f, momentum = 0.9f;
    struct gm_job *job;
    struct gm_model *model;
    struct gm_sgd *sgd = NULL;
    struct gm_ps *ps = NULL;
    double loss = 0, accuracy;

    check(gm_init(&job, NULL));
    const int n_workers = gm_size(job) - (wants_server ? 1 : 0);
    if (n_workers < 1 || n_workers > GLOBAL_BATCH) {
        fprintf(stderr, "cnn_sgd: %d workers; 1 to %d, and a server, are possible: mpirun -n 3 ./cnn_sgd ps\n",
                n_workers, (int)GLOBAL_BATCH);
        gm_finalize(&job);
        return EXIT_FAILURE;
    }
    const size_t batch = GLOBAL_BATCH / n_workers;
    check(gm_model_open(&model, "lenet", NULL, batch, SEED));
    const size_t n = gm_model_n_params(model);
    float *param = malloc(n * sizeof *param), *grad = malloc(n * sizeof *grad);
    if (!param || !grad)
        return EXIT_FAILURE;
    check(gm_model_init(model, SEED + gm_rank(job), param));
    if (wants_server)
        check(gm_ps_open(&ps, job, param, n, 1, momentum, "sync"));
    else
        check(gm_sgd_open(&sgd, job, n, momentum, 0));
    if (ps && gm_ps_is_server(ps))
        check(gm_ps_serve(ps));
    else if (sgd)
        check(gm_broadcast(job, param, n, 0));
    for (int step = 0; step < N_STEPS && !(ps && gm_ps_is_server(ps)); step++) {
        if (ps)
            check(gm_pull(ps, param));
        check(gm_model_gradient(model, param, (uint64_t)(step * n_workers + gm_rank(job)) * batch, batch, grad, &loss));
        check(ps ? gm_push(ps, grad, lr) : gm_sgd_step(sgd, param, grad, lr));
    }
    check(gm_ps_close(&ps, param));
    if (gm_rank(job) == 0) {
        check(gm_model_evaluate(model, param, &loss, &accuracy));
        printf("loss=%.6f accuracy=%.4f workers=%d\n", loss, accuracy, n_workers);
    }
    gm_sgd_close(&sgd);
    gm_model_close(&model);
    free(param);
    free(grad);
    check(gm_finalize(&job));
    return EXIT_SUCCESS;
}
