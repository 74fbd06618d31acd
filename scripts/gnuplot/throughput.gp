# SPDX-License-Identifier: Apache-2.0
# throughput.gp - samples per second against workers, one line per mode, with the ideal line: single x workers.
#
# Data, one row per mode and worker count, sorted by workers:
#   mode  workers  mean  low  high  oversubscribed
# mean low high: samples/s and its 95 % interval (nan: none); oversubscribed: 1 when there were more workers
# than cores (drawn hollow), else 0. The ideal line needs a row `single  1`.

load share.'/style.gp'
quantity = 'throughput'
unit_name = 'samples/s'
reference = 'ideal'
load share.'/scaling.gp'
