# SPDX-License-Identifier: Apache-2.0
# efficiency.gp - throughput(W) / (W x throughput of single) against workers, one line per mode.
#
# Data, one row per mode and worker count, sorted by workers:
#   mode  workers  mean  low  high  oversubscribed
# mean low high: the ratio (1 is ideal) and its 95 % interval (nan: none); oversubscribed: 1 when there were
# more workers than cores (drawn hollow), else 0.

load share.'/style.gp'
quantity = 'efficiency'
unit_name = 'ratio'
reference = 'one'
load share.'/scaling.gp'
