# SPDX-License-Identifier: Apache-2.0
# efficiency.gp - throughput(W) / (W x throughput of single) against workers, one line per mode.
#
# Data, one row per mode and worker count, sorted by workers:
#   mode  workers  mean  low  high  oversubscribed  cores  launch_0  launch_1  ...
# mean low high: the ratio (1 is ideal), the geometric mean over pairs of launches in the same block and its 95 % interval
# (nan: none); oversubscribed: 1 when there were more workers than cores (drawn hollow), else 0; cores: as in throughput.gp;
# launch_i: the ratio of the pair in block i, a dot (nan: none). There may be no column of cores, and none of launches.

load share.'/style.gp'
quantity = 'efficiency'
unit_name = 'ratio'
reference = 'one'
mean_of = 'pairs of launches'
dot_name = 'dots: pairs'
load share.'/scaling.gp'
