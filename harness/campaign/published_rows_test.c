/* SPDX-License-Identifier: Apache-2.0 */
/* published_rows_test.c - tables of published efficiencies: what is read, what is refused and how, and thousands of
 * tables with a few bytes broken. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/campaign/published_rows.h"

#define HEAD "model,gpus,mode,servers,efficiency\n"
#define HEAD_OF_SERVERS "model,gpus,mode,servers,efficiency,placement,consistency\n"

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/gradmark-rows-%ld.csv", (long)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_bytes(const char *text, size_t n_bytes)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n_bytes, f), n_bytes);
    assert_int_equal(fclose(f), 0);
}

static enum rc load(struct published_rows *out, const char *text)
{
    write_bytes(text, strlen(text));
    return published_rows_load(out, path, false);
}

UNIT_TEST(columns_stand_in_any_order)
{
    struct published_rows p = { .path = NULL };

    assert_int_equal(load(&p,
                          "# of a paper\n\n"
                          "note,efficiency,gpus,transport,mode,model,servers,batch,one_gpu_images_per_s,counted,table,"
                          "cluster\r\n"
                          "\"a, b\",0.9,512,rdma,ring,vgg16,,32,130.9,no,second,my.yaml\r\n"
                          "# between\n"
                          ",0.0357,16,,ps,vgg16,4,,,,,\n"
                          ",1.02,1,tcp,ps-async,x,1024,,,yes,,\n"
                          ",1.5,8192,bare,none,x,0,,,yes,,"),
                     RC_OK);
    assert_int_equal(p.n_rows, 4);
    assert_string_equal(p.row[0].model, "vgg16");
    assert_int_equal(p.row[0].line, 4);
    assert_int_equal(p.row[0].mode, ROW_COLLECTIVE);
    assert_int_equal(p.row[0].n_gpus, 512);
    assert_int_equal(p.row[0].n_servers, 0);
    assert_string_equal(p.row[0].transport, "rdma");
    assert_string_equal(p.row[0].cluster, "my.yaml");
    assert_string_equal(p.row[0].table, "second");
    assert_true(p.row[0].efficiency_ratio == 0.9 && p.row[0].one_gpu_images_per_s == 130.9);
    assert_int_equal(p.row[0].batch, 32);
    assert_false(p.row[0].is_counted);
    assert_int_equal(p.row[1].line, 6);
    assert_int_equal(p.row[1].mode, ROW_PS);
    assert_int_equal(p.row[1].n_servers, 4);
    assert_string_equal(p.row[1].transport, "");
    assert_true(isnan(p.row[1].one_gpu_images_per_s) && p.row[1].is_counted && p.row[1].batch == 0);
    assert_int_equal(p.row[2].mode, ROW_PS_ASYNC);
    assert_int_equal(p.row[2].n_servers, 1024);
    assert_true(p.row[2].is_counted);
    assert_int_equal(p.row[3].mode, ROW_NONE);
    assert_int_equal(p.row[3].n_gpus, 8192);
    published_rows_free(&p);
    assert_null(p.row);
}

UNIT_TEST(names_of_modes)
{
    static const struct {
        const char *text;
        enum row_mode mode;
        const char *name, *reducer;
    } known[] = { { "ring,", ROW_COLLECTIVE, "allreduce", "ring" },
                  { "root,", ROW_COLLECTIVE, "allreduce", "root" },
                  { "allreduce,", ROW_COLLECTIVE, "allreduce", "" },
                  { "allreduce-ring,", ROW_COLLECTIVE, "allreduce", "ring" },
                  { "halving-doubling,", ROW_COLLECTIVE, "allreduce", "halving-doubling" },
                  { "ps,1", ROW_PS, "ps", "" },
                  { "ps-sync,1", ROW_PS, "ps", "" },
                  { "ps-async,1", ROW_PS_ASYNC, "ps", "" },
                  { "none,", ROW_NONE, "none", "" },
                  { "single,", ROW_NONE, "none", "" } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct published_rows p = { .path = NULL };
        char text[128];
        snprintf(text, sizeof text, HEAD "m,4,%s,0.5\n", known[i].text);
        assert_int_equal(load(&p, text), RC_OK);
        assert_int_equal(p.row[0].mode, known[i].mode);
        assert_string_equal(row_mode_name(p.row[0].mode), known[i].name);
        assert_string_equal(p.row[0].reducer, known[i].reducer);
        published_rows_free(&p);
    }
}

/* Separators, decimal commas, percent, capitals and a trailing column without a name: all of one row. */
UNIT_TEST(tables_of_spreadsheet_programs)
{
    static const char *const same[] = {
        "model;gpus;mode;efficiency;one_gpu_images_per_s\nm;4;ring;0,97;130,5\n",
        "model;gpus;mode;efficiency;one_gpu_images_per_s\nm;4;ring;0.97;130.5\n",
        "model\tgpus\tmode\tefficiency\tone_gpu_images_per_s\nm\t4\tring\t97,0 %\t130,5\n",
        "model,gpus,mode,efficiency,one_gpu_images_per_s\nm,4,ring,97%,130.5\n",
        "Model,GPUs,Mode,Efficiency,One_GPU_images_per_s\nm,4,Ring,97 %,130.5\n",
        "model,gpus,mode,efficiency,one_gpu_images_per_s,\nm,4,RING,0.97,130.5,\n",
    };

    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct published_rows p = { .path = NULL };
        assert_int_equal(load(&p, same[i]), RC_OK);
        assert_int_equal(p.n_rows, 1);
        assert_int_equal(p.row[0].mode, ROW_COLLECTIVE);
        assert_string_equal(p.row[0].reducer, "ring");
        assert_true(fabs(p.row[0].efficiency_ratio - 0.97) < 1e-12);
        assert_true(p.row[0].one_gpu_images_per_s == 130.5);
        published_rows_free(&p);
    }
}

/* Rates instead of efficiencies: over that of one GPU, which a column has, or a row of 1 GPU with the same model, table
 * and batch; of the same mode if there is one, else of another. */
UNIT_TEST(rates_instead_of_efficiencies)
{
    static const double efficiency[] = { 0.75, 1, 0.5, 1, 0.5, 600 / 720., 1 };
    struct published_rows p = { .path = NULL };

    assert_int_equal(load(&p,
                          "model,gpus,mode,images_per_s,images_per_s_per_gpu,one_gpu_images_per_s,table,batch,servers,"
                          "gpus_per_host,placement,consistency\n"
                          "a,4,ring,300,,,t,32,,2,,\n"
                          "a,1,single,100,,,t,32,,,,\n"
                          "a,4,ps,,40,,t,32,2,,whole,ssp:3\n"
                          "a,1,ps,80,,,t,32,1,,,\n"
                          "a,4,ring,300,,150,t,64,,,,\n"
                          "a,8,ring,600,,,u,32,,,,\n"
                          "a,1,none,90,,,u,32,,,,\n"),
                     RC_OK);
    assert_int_equal(p.n_rows, sizeof efficiency / sizeof *efficiency);
    for (size_t i = 0; i < p.n_rows; i++)
        assert_true(fabs(p.row[i].efficiency_ratio - efficiency[i]) < 1e-12);
    assert_true(p.row[0].one_gpu_images_per_s == 100 && p.row[0].images_per_s == 300 && p.row[0].n_gpus_per_host == 2);
    assert_true(p.row[2].one_gpu_images_per_s == 80 && p.row[2].images_per_s == 160 && p.row[2].n_gpus_per_host == 0);
    assert_string_equal(p.row[2].placement, "whole");
    assert_string_equal(p.row[2].consistency, "ssp:3");
    published_rows_free(&p);
}

/* Without a row of 1 GPU: relative to the smallest row of equal terms, which brings neither efficiency nor rate. */
UNIT_TEST(rates_relative_to_a_host)
{
    struct published_rows p = { .path = NULL };

    assert_int_equal(load(&p, "model,gpus,mode,images_per_s,efficiency,one_gpu_images_per_s,precision\n"
                              "a,16,ring,1200,,,\n"
                              "a,2,ring,,0.9,,\n"
                              "a,2,ring,150,,100,\n"
                              "a,4,ring,400,,,\n"
                              "a,8,ring,700,,,fp16\n"
                              "a,4,ring,400,,,fp16\n"
                              "a,4,ring,400,,,\n"),
                     RC_OK);
    assert_ptr_equal(p.row[0].baseline, &p.row[3]);
    assert_true(p.row[0].efficiency_ratio == 0.75 && published_row_baseline_rate(&p.row[0]) == 100);
    assert_null(p.row[1].baseline);
    assert_true(isnan(published_row_baseline_rate(&p.row[1])));
    assert_null(p.row[2].baseline);
    assert_true(p.row[2].efficiency_ratio == 0.75 && published_row_baseline_rate(&p.row[2]) == 100);
    assert_ptr_equal(p.row[4].baseline, &p.row[5]);
    for (int i = 3; i < 7; i += i == 3 ? 2 : 1) {
        assert_ptr_equal(p.row[i].baseline, &p.row[i]);
        assert_true(p.row[i].efficiency_ratio == 1);
    }
    published_rows_free(&p);
}

UNIT_TEST(unknown_columns_are_passed_over_if_asked)
{
    static const char text[] = "gpu,model,gpus,mode,efficiency,year\nP100,m,4,ring,0.5,2017\n";
    struct published_rows p = { .path = NULL };

    assert_int_equal(load(&p, text), RC_INVAL);
    assert_non_null(strstr(rc_message(), "unknown column \"gpu\""));
    assert_non_null(strstr(rc_message(), "--ignore-columns"));
    assert_int_equal(published_rows_load(&p, path, true), RC_OK);
    assert_string_equal(p.ignored, "gpu, year");
    assert_int_equal(p.row[0].n_gpus, 4);
    published_rows_free(&p);
}

/* What is wrong, and the message behind the path. */
struct wrong {
    const char *text, *message;
};

static void assert_named(const struct wrong *wrong, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct published_rows p = { .path = NULL };
        assert_int_equal(load(&p, wrong[i].text), RC_INVAL);
        assert_null(p.row);
        if (strncmp(rc_message(), path, strlen(path)) != 0 ||
            strncmp(rc_message() + strlen(path), wrong[i].message, strlen(wrong[i].message)) != 0)
            fail_msg("\"%s\": %s", wrong[i].text, rc_message());
    }
}

/* Each row by its first error, in one message, as far as it has room. */
UNIT_TEST(all_wrong_rows_are_named)
{
    char text[4000], expected[1024];
    struct published_rows p = { .path = NULL };

    assert_int_equal(load(&p, HEAD "m,0,rings,,9\nm,4,ring,,0.5\nm,4,ring\n"), RC_INVAL);
    snprintf(expected, sizeof expected,
             "%s:2: gpus: is \"0\"; use a whole number from 1 to 8192\n%s:4: has 3 fields; use 5, as the head has",
             path, path);
    assert_string_equal(rc_message(), expected);
    snprintf(text, sizeof text, "%s", HEAD);
    for (int i = 0; i < 100; i++)
        strcat(text, "m,4,ring\n");
    assert_int_equal(load(&p, text), RC_INVAL);
    assert_non_null(strstr(rc_message(), ":3: has 3 fields; use 5, as the head has\n"));
    assert_string_equal(strrchr(rc_message(), ' '), " rows");
}

UNIT_TEST(wrong_rates_are_named)
{
    static const struct wrong wrong[] = {
        { "model,gpus,mode,images_per_s\nm,4,ring,\n", ":2: efficiency: is \"\"; use a ratio, or a number in column" },
        { "model,gpus,mode,images_per_s\nm,4,ring,-1\n", ":2: images_per_s: is \"-1\"; use a number from 0.001" },
        { "model,gpus,mode,images_per_s,batch\nm,4,ring,400,32\nm,1,single,110,64\n",
          ":2: one_gpu_images_per_s: is \"\"; use the rate of one GPU, or a row of 1 GPU with the same model" },
        { "model,gpus,mode,images_per_s\nm,1,single,10\nm,4,ring,400\n",
          ":3: 400 images/s of 4 GPUs, over 10 of one, is an efficiency of 10.00; use at most 1.5" },
        { "model,gpus,mode,images_per_s\nm,4,ring,40\nm,8,ring,400\n",
          ":3: 400 images/s of 8 GPUs, over 10 of one of a host, is an efficiency of 5.00; use at most 1.5" },
    };

    assert_named(wrong, sizeof wrong / sizeof *wrong);
}

UNIT_TEST(wrong_tables_are_named)
{
    static const struct wrong wrong[] = {
        { "", ": has no rows; use a head and a row: model,gpus,mode,servers,efficiency" },
        { HEAD, ": has no rows; use a head and a row: model,gpus,mode,servers,efficiency" },
        { "model,gpus,mode,efficency\n",
          ":1: unknown column \"efficency\"; use efficiency, or another of model, gpus" },
        { "#\nmodel,qqqqqqqqqqqqqqq\n", ":2: unknown column \"qqqqqqqqqqqqqqq\"; use one of model, gpus" },
        { "model,gpus,mode,model,efficiency\n", ":1: column model is there twice; leave one out" },
        { "model,gpus,mode\nm,1,ring\n", ":1: no column says what was measured; use efficiency, images_per_s" },
        { "gpus,model,efficiency\n", ":1: there is no column mode, which is needed" },
        { "gpus,mode,efficiency\n1,ring,1\n", ":1: there is no column model, which is needed" },
        { "\"model,gpus\n",
          ":1: is no head; use the names of columns: model, gpus, mode, efficiency, images_per_s, "
          "images_per_s_per_gpu, servers, placement, consistency, transport, gradients, precision, cluster, system, "
          "gpus_per_host, one_gpu_images_per_s, batch, counted, table, source, note" },
        { HEAD "m,4,ring,0.5\n", ":2: has 4 fields; use 5, as the head has" },
        { HEAD "m,4,ring,,0.5,\n", ":2: has 6 fields; use 5, as the head has" },
        { HEAD "\"m,4,ring,,0.5\n", ":2: a quote is not closed" },
        { HEAD ",4,ring,,0.5\n", ":2: model: is \"\"; use the name of a model" },
        { HEAD "m,4,ring,,0.5\nm,0,ring,,0.5\n", ":3: gpus: is \"0\"; use a whole number from 1 to 8192" },
        { HEAD "m,-4,ring,,0.5\n", ":2: gpus: is \"-4\"; use a whole number from 1 to 8192" },
        { HEAD "m,,ring,,0.5\n", ":2: gpus: is \"\"; use a whole number from 1 to 8192" },
        { HEAD "m,8193,ring,,0.5\n", ":2: gpus: is \"8193\"; use a whole number from 1 to 8192" },
        { HEAD "m,1.5,ring,,0.5\n", ":2: gpus: is \"1.5\"; use a whole number from 1 to 8192" },
        { HEAD "m,4,rings,,0.5\n", ":2: mode: is \"rings\"; use ring, allreduce, halving-doubling, tree, ps, ps-sync, "
                                   "ps-async, none or single" },
        { HEAD "m,4,allreduce-,,1\n", ":2: mode: is \"allreduce-\"; use ring, allreduce" },
        { HEAD "m,4,ps-ring,1,1\n", ":2: mode: is \"ps-ring\"; use ring, allreduce" },
        { HEAD "m,4,ring,,-0.5\n",
          ":2: efficiency: is \"-0.5\"; use a ratio above 0, at most 1.5 (90 % is 0.9 or 90%)" },
        { HEAD "m,4,ring,,90\n", ":2: efficiency: is \"90\"; use a ratio above 0, at most 1.5 (90 % is 0.9 or 90%)" },
        { HEAD "m,4,ring,,0\n", ":2: efficiency: is \"0\"; use a ratio above 0" },
        { HEAD "m,4,ring,,nan\n", ":2: efficiency: is \"nan\"; use a ratio above 0" },
        { HEAD "m,4,ring,,\n", ":2: efficiency: is \"\"; use a ratio, or a number in column images_per_s" },
        { "model,gpus,mode,efficiency,gpus_per_host\nm,4,ring,1,0\n",
          ":2: gpus_per_host: is \"0\"; use a whole number" },
        { HEAD_OF_SERVERS "m,4,ps,1,1,half,\n", ":2: placement: is \"half\"; use split, whole" },
        { HEAD_OF_SERVERS "m,4,ps,1,1,,later\n", ":2: consistency: is \"later\"; use async, ssp:S" },
        { HEAD_OF_SERVERS "m,4,ring,,1,,sync\n", ":2: consistency: is \"sync\"; use nothing, as the row is of no" },
        { HEAD "m,4,ps,,0.5\n",
          ":2: servers: is \"\"; use the number of servers, as the row is of a parameter server" },
        { HEAD "m,4,ps,0,0.5\n", ":2: servers: is \"0\"; use the number of servers" },
        { HEAD "m,4,ps,-1,0.5\n", ":2: servers: is \"-1\"; use a whole number from 0 to 1024" },
        { HEAD "m,4,ring,2,0.5\n", ":2: servers: is \"2\"; use nothing, or 0, as the row is of no parameter server" },
        { "model,gpus,mode,efficiency,transport\nm,4,ring,1,udp\n",
          ":2: transport: is \"udp\"; use rdma, tcp, grpc, bare or nothing" },
        { "model,gpus,mode,efficiency,system\nm,4,ring,1,hrovod\n",
          ":2: system: is \"hrovod\"; use one of horovod-2017|horovod-0.16|ddp|mpi, or nothing, as the row has no" },
        { "model,gpus,mode,servers,efficiency,system\nm,4,ps,1,1,ddp\n",
          ":2: system: is \"ddp\"; use one of tf-grpc|tf-distributed-2017, or nothing, as the row has parameter" },
        { "model,gpus,mode,efficiency,system\nm,4,none,1,ddp\n",
          ":2: system: is \"ddp\"; use nothing, as the row exchanges nothing" },
        { "model,gpus,mode,efficiency,batch\nm,4,ring,1,0\n",
          ":2: batch: is \"0\"; use a whole number from 1 to 1048576" },
        { "model,gpus,mode,efficiency,one_gpu_images_per_s\nm,4,ring,1,-3\n",
          ":2: one_gpu_images_per_s: is \"-3\"; use a number from 0.001 to 1e9, or nothing" },
        { "model,gpus,mode,efficiency,counted\nm,4,ring,1,maybe\n",
          ":2: counted: is \"maybe\"; use yes, no or nothing" },
        { HEAD "012345678901234567890123456789012,4,ring,,0.5\n",
          ":2: model: is \"012345678901234567890123456789012\"; use a "
          "shorter text" },
        { HEAD "m,4,ring\x07,,0.5\n", ":2: mode: is \"ring?\"; use ring" },
        { HEAD "m\x01,4,ring,,0.5\n", ":2: model: is \"m?\"; use letters, digits" },
        { HEAD ".m,4,ring,,0.5\n", ":2: model: is \".m\"; use letters, digits" },
        { HEAD "a/b,4,ring,,0.5\n", ":2: model: is \"a/b\"; use letters, digits" },
        { HEAD "m,4,ring,,0,5\n", ":2: has 6 fields; use 5, as the head has" },
        { HEAD "m,4,ring,,97,5%\n", ":2: has 6 fields; use 5" },
        { HEAD "m,4,ring,,%\n", ":2: efficiency: is \"%\"; use a ratio above 0" },
        { HEAD "m,4,ring,,200%\n", ":2: efficiency: is \"200%\"; use a ratio above 0" },
        { "model;gpus;mode;efficiency\nm;4;ring;0,9,7\n", ":2: efficiency: is \"0,9,7\"; use a ratio above 0" },
        { "model,gpus,mode,efficiency,\nm,4,ring,0.5,text\n",
          ":2: column 5 is not empty, and has no name in the head" },
        { HEAD "m,4,nccl,,0.5\n", ":2: mode: is \"nccl\"; use ring" },
    };

    assert_named(wrong, sizeof wrong / sizeof *wrong);
}

UNIT_TEST(other_things_than_files_are_refused)
{
    struct published_rows p = { .path = NULL };

    assert_int_equal(published_rows_load(&p, "/no/such/table.csv", false), RC_INVAL);
    assert_names(rc_message(), "/no/such/table.csv:");
    assert_int_equal(published_rows_load(&p, "/tmp", false), RC_INVAL);
    write_bytes(HEAD "m,4\0,ring,,0.5\n", sizeof HEAD + 15);
    assert_int_equal(published_rows_load(&p, path, false), RC_INVAL);
    assert_non_null(strstr(rc_message(), ":2: has a zero byte; use text"));
}

static size_t below(uint64_t *n_drawn, size_t n)
{
    return (size_t)(rng_u64(5, RNG_TEST, (*n_drawn)++) % n);
}

/* Whatever is in it, the file is read or refused with its name. */
UNIT_TEST(broken_tables_are_refused_or_read)
{
    static const char whole[] =
        "model,gpus,mode,servers,efficiency,transport,batch,one_gpu_images_per_s,counted,table\n"
        "vgg16,16,ps,4,0.0357,grpc,64,130.9,yes,\"16 GPUs, \"\"new\"\"\"\n"
        "resnet101,512,ring,,0.9,rdma,,,no,\n";
    uint64_t n_drawn = 0;
    int n_read = 0;

    for (int round = 0; round < 4000; round++) {
        struct published_rows p = { .path = NULL };
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (int k = 0; k < 1 + round % 3; k++)
            text[below(&n_drawn, sizeof whole - 1)] = (char)below(&n_drawn, 256);
        write_bytes(text, sizeof whole - 1 - below(&n_drawn, round % 2 ? sizeof whole - 1 : 1));
        if (published_rows_load(&p, path, false) == RC_OK) {
            n_read++;
            for (size_t i = 0; i < p.n_rows; i++)
                assert_true(p.row[i].n_gpus >= 1 && p.row[i].efficiency_ratio > 0 && p.row[i].model[0]);
        } else
            assert_ptr_equal(strstr(rc_message(), path), rc_message());
        published_rows_free(&p);
    }
    assert_in_range(n_read, 50, 3000);
}

int main(void)
{
    return unit_run("published_rows", NULL, make_path, remove_path);
}
