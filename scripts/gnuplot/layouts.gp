# SPDX-License-Identifier: Apache-2.0
# layouts.gp - samples per second of layouts, a bar each, those of as many ranks together.
#
# Data, a row for each layout, drawn from the top by ranks, and of as many ranks in this order:
#   layout  kind  ranks  mean  low  high  efficiency  oversubscribed  launch_0  launch_1  ...
# kind: data, stages, shards or both; mean low high: samples/s, the geometric mean of the launches and its 95 % interval
# (nan: none); efficiency: of its ranks (nan: not known); oversubscribed: 1 when there were more ranks than cores (marked
# with a star), else 0; launch_i: samples/s of launch i, a dot (nan: none). There may be no column of launches.

load share.'/style.gp'
kinds = 'data stages shards both'
kind_colours = '#56B4E9 #E69F00 #009E73 #CC79A7'
kind_patterns = '0 4 5 6'
kind_hatches = '#000000 #8A5F00 #00503A #7D3F63'
kind_meanings = '"workers alone" "stages" "shards of dense layers" "both"'
kind_of(k) = sum [i = 1:4] (word(kinds, i) eq k ? i : 0)
first_launch = 9 # its column

# --- rows: those of fewer ranks first, a gap where their number changes ---
ranks_of = ''
seen_kinds = ''
most = 0.0
longest_name = 0
n_oversubscribed = 0
n_shown = 0
taller(y) = is_number(y) && y > most ? (most = y, 1) : 0
see(l, k, r, y, high, o) = (ranks_of = ranks_of.sprintf(' %d', r), n_shown = n_shown + is_number(y), taller(y), taller(high), \
    seen_kinds = strstrt(seen_kinds, ' '.k.' ') ? seen_kinds : seen_kinds.' '.k.' ', n_oversubscribed = n_oversubscribed + (o > 0), \
    longest_name = strlen(l) > longest_name ? strlen(l) : longest_name, 1)
stats data using (see(strcol(1), strcol(2), cell(3), cell(4), cell(6), cell(8))) nooutput
n_rows = words(ranks_of)
if (!exists("STATS_records") || n_rows == 0 || n_shown == 0) {
    print data.': no row has layout, kind, ranks and mean'
    exit status 1
}
last_launch = STATS_columns
has_launch(k) = k <= last_launch && is_number(cell(k)) # a loop of a plot over no columns is of one
n_dots = 0
do for [k = first_launch:last_launch] {
    stats data using (n_dots = n_dots + taller(cell(k)) + is_number(cell(k)), 0) nooutput
}
ranks(i) = int(word(ranks_of, i))
before(i) = sum [k = 1:n_rows] (ranks(k) < ranks(i) || (ranks(k) == ranks(i) && k < i) ? 1 : 0)
is_first_of(i) = (sum [k = 1:n_rows] (k < i && ranks(k) == ranks(i) ? 1 : 0)) == 0
groups_before(i) = sum [k = 1:n_rows] (ranks(k) < ranks(i) && is_first_of(k) ? 1 : 0)
y(row) = -before(int(row) + 1) - 1.1 * groups_before(int(row) + 1) - 1.1
lowest = -n_rows - 1.1 * (sum [k = 1:n_rows] (is_first_of(k) ? 1 : 0)) - 0.1
divisor = most < 2e3 ? 1 : most < 2e6 ? 1e3 : most < 2e9 ? 1e6 : 1e9
unit_prefix = divisor == 1 ? '' : divisor == 1e3 ? 'thousand ' : divisor == 1e6 ? 'million ' : 'billion '
name(l, o) = (o > 0 ? '* ' : '').l
told(v, e) = sprintf(v >= 99.95 ? '%.0f' : v >= 9.995 ? '%.1f' : '%.2f', v).(is_number(e) ? sprintf('   efficiency %.2f', e) : '')

# --- text ---
heading = joined(model, 'throughput of layouts')
note = joined(note, mean_note('geometric mean', 'launches'))
note = joined(note, n_oversubscribed > 0 ? '* more ranks than cores' : '')
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
base_points = format eq 'svg' ? 22 : 17
row_points = int(base_points * (-lowest > 26 ? 26.0 / -lowest : 1))
row_points = row_points < 6 ? 6 : row_points
left = 0.03 + 0.0085 * (longest_name + (n_oversubscribed ? 3 : 1)) * row_points / base_points
set lmargin at screen left < 0.1 ? 0.1 : left > 0.4 ? 0.4 : left
set border 1
set grid noy x lt 1 lc rgb '#dcdcdc' lw 0.8
set ytics scale 0 font ','.row_points
set xlabel unit_prefix.'samples/s; rows: workers × stages × shards'
set format x '%g'
set xrange [0 : most / divisor * 1.3]
set yrange [lowest > -7 ? -7 : lowest : 0]
set style fill solid 1 noborder
entry_names = ''
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
entry_hatches = ''
do for [k = 1:4] {
    if (strstrt(seen_kinds, ' '.word(kinds, k).' ')) {
        entry_names = entry_names.' "'.word(kind_meanings, k).'"'
        entry_colours = entry_colours.' '.word(kind_colours, k)
        entry_points = entry_points.' 0'
        entry_lines = entry_lines.' 0'
        entry_boxes = entry_boxes.sprintf(' %d', 1 + int(word(kind_patterns, k)))
        entry_hatches = entry_hatches.' '.word(kind_hatches, k)
    }
}
if (n_dots > 0) {
    entry_names = entry_names.' "dots: launches"'
    entry_colours = entry_colours.' #000000'
    entry_points = entry_points.' 7'
    entry_lines = entry_lines.' 0'
    entry_boxes = entry_boxes.' 0'
    entry_hatches = entry_hatches.' #000000'
}
load share.'/legend.gp'
do for [i = 1:n_rows] {
    if (is_first_of(i)) {
        group_name = ranks(i) == 1 ? '1 rank' : sprintf('%d ranks', ranks(i))
        group_y = y(i - 1) + 0.8
        set label 300 + i group_name at graph 0, first group_y left offset 0.3, 0 \
            font ','.row_points tc rgb '#505050'
    }
}

# --- bars, intervals, launches ---
set datafile missing NaN
is_kind(k) = strcol(2) eq word(kinds, k)
bar_end(k) = is_kind(k) && is_number(cell(4)) ? cell(4) / divisor : NaN
has_interval(unused) = is_number(cell(5)) && is_number(cell(6))
far_end(unused) = (has_interval(0) && cell(6) > cell(4) ? cell(6) : cell(4)) / divisor
farthest(unused) = n_dots == 0 ? far_end(0) : far_end(0) > dot_end(0) ? far_end(0) : dot_end(0)
dot_end(unused) = (max_dot = 0.0, sum [k = first_launch:last_launch] (has_launch(k) && cell(k) > max_dot ? (max_dot = cell(k), 0) : 0), max_dot / divisor)
plot \
    data using (0):(y($0)):(0):(is_number(cell(4)) ? cell(4) / divisor : 0):(y($0) - 0.36):(y($0) + 0.36): \
        ytic(name(strcol(1), cell(8))) with boxxyerror lc rgb '#ffffff' notitle, \
    for [k = 1:4] data using (is_kind(k) ? 0 : NaN):(y($0)):(0):(bar_end(k)):(y($0) - 0.36):(y($0) + 0.36) with boxxyerror \
        lc rgb word(kind_colours, k) notitle, \
    for [k = 2:4] data using (is_kind(k) ? 0 : NaN):(y($0)):(0):(bar_end(k)):(y($0) - 0.36):(y($0) + 0.36) with boxxyerror \
        fs transparent pattern int(word(kind_patterns, k)) noborder lc rgb word(kind_hatches, k) notitle, \
    for [k = first_launch:last_launch] data using (has_launch(k) ? cell(k) / divisor : NaN):(y($0) - 0.2) with points pt 7 \
        ps 0.35 * dot lc rgb '#000000' notitle, \
    data using (has_interval(0) ? cell(5) / divisor : NaN):(y($0)):((cell(6) - cell(5)) / divisor):(0) \
        with vectors heads size screen 0.0035, 90 lc rgb '#000000' lw 1.8 notitle, \
    data using (is_number(cell(4)) ? farthest(0) : NaN):(y($0)):(told(cell(4) / divisor, cell(7))) \
        with labels left offset 0.7, 0 font ','.row_points tc rgb '#404040' notitle
set output
