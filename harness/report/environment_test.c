/* SPDX-License-Identifier: Apache-2.0 */
/* environment_test.c - what of made-up environments reaches a record, letter by letter. */
#include "harness/report/environment.h"

#include <stdlib.h>

#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/report/suite/report_kit.h"

/* The record's line; the caller frees it. */
static char *recorded(char *const *variables)
{
    struct record *r = NULL;
    struct printed p;

    printed_begin(&p);
    r = record_open(NULL);
    environment_record(r, variables);
    assert_int_equal(record_print(r, p.to), RC_OK);
    char *text = printed_end(&p);
    record_close(&r);
    return text;
}

static void assert_recorded(char *const *variables, const char *expected)
{
    char *text = recorded(variables);

    assert_string_equal(text, expected);
    free(text);
}

UNIT_TEST(of_the_list_alone_in_order_N1_N4)
{
    char *variables[] = {
        "PATH=/usr/bin",
        "UCX_TLS=tcp,self",
        "OMP_PROC_BIND=close",
        "USER=somebody",
        "OMP_NUM_THREADS=2",
        "OMP=no",
        "SLURM_JOB_USER=somebody",
        "SLURM_CPU_BIND=cores",
        "SLURM_CPU_BIND_LIST=0x1",
        "OMPI_MCA_btl=tcp,self",
        "MYOMP_NUM_THREADS=3",
        "OMP_NUM_THREADS=3", /* the first counts */
        "NCCL_ALGO=Ring",
        "OPENBLAS_NUM_THREADS=1",
        "BLIS_ARCH_TYPE=zen3",
        "MKL_CBWR=COMPATIBLE",
        "KMP_AFFINITY=",
        "LD_PRELOAD=liballoc.so",
        "LD_PRELOADED=x",
        "GLIBC_TUNABLES=glibc.malloc.hugetlb=2", /* the value holds the sign that ends the name */
        "HOME",
        "OMP_",
        NULL,
    };

    assert_recorded(variables, "{\"environment\":{"
                               "\"BLIS_ARCH_TYPE\":\"zen3\","
                               "\"GLIBC_TUNABLES\":\"glibc.malloc.hugetlb=2\","
                               "\"KMP_AFFINITY\":\"\","
                               "\"LD_PRELOAD\":\"liballoc.so\","
                               "\"MKL_CBWR\":\"COMPATIBLE\","
                               "\"NCCL_ALGO\":\"Ring\","
                               "\"OMPI_MCA_btl\":\"tcp,self\","
                               "\"OMP_NUM_THREADS\":\"2\","
                               "\"OMP_PROC_BIND\":\"close\","
                               "\"OPENBLAS_NUM_THREADS\":\"1\","
                               "\"SLURM_CPU_BIND\":\"cores\","
                               "\"UCX_TLS\":\"tcp,self\"},"
                               "\"environment_left_out_count\":0}\n");
    assert_recorded(variables + 22, "{\"environment\":{},\"environment_left_out_count\":0}\n");
    assert_recorded(NULL, "{\"environment\":{},\"environment_left_out_count\":0}\n");
}

/* Of every MPI, of what carries its messages, of every BLAS, and of CUDA; what says who and where the user is, is not.
 */
UNIT_TEST(launchers_and_libraries_of_all_kinds_N1)
{
    static const char *const RECORDED[] = {
        "BLIS_NUM_THREADS",
        "CUDA_MODULE_LOADING",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "FI_PROVIDER",
        "GOTO_NUM_THREADS",
        "HYDRA_BINDING",
        "HYDRA_MAPPING",
        "I_MPI_FABRICS",
        "MKL_NUM_THREADS",
        "MPICH_ASYNC_PROGRESS",
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM",
        "MV2_ENABLE_AFFINITY",
        "MVP_ENABLE_AFFINITY",
        "OMPI_MCA_coll",
        "OPENBLAS_CORETYPE",
        "PMIX_MCA_gds",
        "PRTE_MCA_rmaps_default_mapping_policy",
        "PSM3_DEVICES",
    };
    static char *const LEFT_OUT[] = { "CUDA_HOME=/usr/local/cuda",
                                      "CUDA_CACHE_PATH=/home/me/.nv",
                                      "CUDA_MPS_PIPE_DIRECTORY=/tmp/mps",
                                      "HYDRA_HOST_FILE=/home/me/hosts",
                                      "HYDRA_LAUNCHER_EXEC=/usr/bin/ssh",
                                      "HYDRA_BINDING_OF_ANOTHER=1",
                                      "PMIX_SERVER_URI41=prte@1;tcp4://10.0.0.1:2",
                                      "PMIX_MCA_ptl_tcp_report_uri=uri",
                                      "PMIX_MCA_psec=munge",
                                      "PMIX_MCA_mca_base_component_show_load_errors=1",
                                      "PRTE_MCA_prte_hnp_uri=1;tcp://10.0.0.1:4",
                                      "PRTE_MCA_ess_base_jobid=7",
                                      "PRTE_MCA_plm_ssh_agent=ssh -i key",
                                      "PMI_RANK=0",
                                      "MPI_LOCALRANKID=0" };
    enum { N = sizeof RECORDED / sizeof *RECORDED, N_OUT = sizeof LEFT_OUT / sizeof *LEFT_OUT };
    char text[N][80], *variables[N + N_OUT + 1], expected[4000] = "{\"environment\":{";

    for (int i = 0; i < N; i++) {
        const size_t n_used = strlen(expected);
        snprintf(text[i], sizeof text[i], "%s=%d", RECORDED[i], i);
        variables[i] = text[i];
        snprintf(expected + n_used, sizeof expected - n_used, "%s\"%s\":\"%d\"", i > 0 ? "," : "", RECORDED[i], i);
    }
    memcpy(&variables[N], LEFT_OUT, sizeof LEFT_OUT);
    variables[N + N_OUT] = NULL;
    strcat(expected, "},\"environment_left_out_count\":0}\n");
    assert_recorded(variables, expected);
}

/* That such a variable is set is told, its value is not; what a launcher tells its processes is left out. */
UNIT_TEST(no_secrets_N2)
{
    char *variables[] = {
        "FI_OPX_AUTH_KEY=s1",
        "NCCL_secret_word=s2",
        "UCX_TOKEN=s3",
        "I_MPI_PASSWORD=s4",
        "FI_PSM2_UUID=s5",
        "MKL_CREDENTIALS=s6",
        "OMPI_MCA_precondition_transports=s7",
        "NCCL_PROXY=https://me:s8@host",
        "UCX_LOG_FILE=https://host/log",
        "OMPI_MCA_orte_hnp_uri=1;tcp://10.0.0.1:4",
        "OMPI_MCA_orte_precondition_transports=s9",
        "OMPI_MCA_ess_base_jobid=7",
        "OMPI_MCA_plm_rsh_agent=ssh -i s10",
        "OMPI_MCA_initial_wdir=/home/me",
        "OMPI_MCA_pmix=^s1",
        "I_MPI_HYDRA_HOST_FILE=hosts",
        "OMPI_MCA_mpi_yield_when_idle=1",
        NULL,
    };

    assert_recorded(variables, "{\"environment\":{"
                               "\"FI_OPX_AUTH_KEY\":null,"
                               "\"FI_PSM2_UUID\":null,"
                               "\"I_MPI_PASSWORD\":null,"
                               "\"MKL_CREDENTIALS\":null,"
                               "\"NCCL_PROXY\":null,"
                               "\"NCCL_secret_word\":null,"
                               "\"OMPI_MCA_mpi_yield_when_idle\":\"1\","
                               "\"OMPI_MCA_precondition_transports\":null,"
                               "\"UCX_LOG_FILE\":\"https://host/log\","
                               "\"UCX_TOKEN\":null},"
                               "\"environment_left_out_count\":0}\n");
}

/* Of 256 bytes all are kept, of 257 as many; a character of two bytes is not cut in its middle. */
UNIT_TEST(long_values_are_cut_N3)
{
    enum { N = ENVIRONMENT_VALUE_BYTES };
    char fits[N + 16] = "OMP_A=", is_longer[N + 16] = "OMP_B=", is_split[N + 16] = "OMP_C=";
    char *variables[] = { fits, is_longer, is_split, NULL }, expected[4 * N];

    memset(fits + 6, 'a', N);
    memset(is_longer + 6, 'b', N + 1);
    memset(is_split + 6, 'c', N - 1);
    memcpy(is_split + 6 + N - 1, "\xc3\xa4", 2);
    snprintf(expected, sizeof expected,
             "{\"environment\":{\"OMP_A\":\"%s\",\"OMP_B\":\"%.*s...\",\"OMP_C\":\"%.*s...\"},"
             "\"environment_left_out_count\":0}\n",
             fits + 6, N, is_longer + 6, N - 1, is_split + 6);
    assert_recorded(variables, expected);
}

/* A value of any bytes, and a name that no shell gives, do no harm to the record. */
UNIT_TEST(strange_bytes)
{
    char long_name[120] = "OMP_", *variables[] = { "OMP_A=\xff\"\n", "OMP_\xff=1", "OMP_B C=2", long_name, NULL };

    memset(long_name + 4, 'x', 100);
    strcpy(long_name + 104, "=3");
    assert_recorded(variables, "{\"environment\":{\"OMP_A\":\"\xef\xbf\xbd\\\"\\n\"},"
                               "\"environment_left_out_count\":0}\n");
}

/* One more than there is room for: the last by name is counted, wherever it stood. */
UNIT_TEST(many_variables_are_counted_N3)
{
    enum { N = ENVIRONMENT_MAX_VARIABLES + 3 };
    char text[N][40], *variables[N + 1], *record;

    for (int is_descending = 0; is_descending < 2; is_descending++) {
        for (int i = 0; i < N; i++) {
            snprintf(text[i], sizeof text[i], "OMP_%03d=%d", is_descending ? N - 1 - i : i, i);
            variables[i] = text[i];
        }
        variables[N] = NULL;
        record = recorded(variables);
        assert_non_null(strstr(record, "{\"OMP_000\":"));
        assert_non_null(strstr(record, "\"OMP_127\":"));
        assert_null(strstr(record, "OMP_128"));
        assert_null(strstr(record, "OMP_130"));
        assert_non_null(strstr(record, "},\"environment_left_out_count\":3}\n"));
        free(record);
    }
}

UNIT_MAIN("environment")
