# SPDX-License-Identifier: Apache-2.0
# busbw.gp - bus bandwidth of a collective over bytes, a line for each algorithm, under what the machine allows.
#
# Data, those of a line together and in their order:
#   line  kind  bytes  gb_per_s  low  high
# kind: "ceiling" (of line "memory" or "link", drawn thick and dark, with its name), else a line of its own colour. low and
# high: an interval; nan: none.
# Variables: model (the type), machine (style.gp); what is drawn and what the ceiling is, where these are others than said here: what,
# ceiling_text.

load share.'/style.gp'
if (!exists('what')) { what = 'bus bandwidth' }
each = exists('ceiling_text') ? '' : ' of each algorithm'
ceiling = ''
least = 1e300
most = -1e300
first = 1e300
last = -1e300
is_shown(x, y) = is_number(x) && is_number(y) && x > 0 && y > 0
see_range(x, y) = (least = y < least ? y : least, most = y > most ? y : most, first = x < first ? x : first, last = x > last ? x : last, 0)
see_line(l, k) = k eq 'ceiling' ? (ceiling = l, 0) : see_mode(l)
see(l, k, x, y) = is_shown(x, y) ? (see_line(l, k), see_range(x, y), 1) : NaN
stats data using (see(strcol(1), strcol(2), cell(3), cell(4))) nooutput
if (!exists("STATS_records") || STATS_records == 0) {
    print data.': no row has line, kind, and bytes and GB/s above 0'
    exit status 1
}
n_lines = words(modes)

# --- scales ---
set logscale x 2
set logscale y 10
room = last > first ? (last / first) ** 0.02 : 1.5
set xrange [first / room : last * room]
highest = most * 1.8
lowest = least / 1.5
set yrange [lowest : highest]
unit(x) = x < 1024 ? sprintf('%g B', x) : x < 1048576 ? sprintf('%g KiB', x / 1024) : x < 1073741824 ? sprintf('%g MiB', x / 1048576) : sprintf('%g GiB', x / 1073741824)
octave_from = int(floor(log(first) / log(2) + 0.01))
octave_to = int(ceil(log(last) / log(2) - 0.01))
step = octave_to - octave_from > 14 ? 4 : octave_to - octave_from > 7 ? 2 : 1
set xtics ()
do for [k = octave_from:octave_to:step] { set xtics add (unit(2.0 ** k) 2.0 ** k) }
set format y '%g'
if (highest / lowest < 1000) { # decades alone would be too few ticks
    set ytics ()
    do for [k = int(floor(log10(lowest))):int(ceil(log10(highest)))] {
        do for [m in '1 2 5'] { set ytics add (sprintf('%g', m * 10.0 ** k) m * 10.0 ** k) }
    }
} else { if (has_powers(lowest, highest)) {
    set ytics ()
    do for [k = int(floor(log10(lowest))):int(ceil(log10(highest)))] { set ytics add (power_of_ten(k) 10.0 ** k) }
} }
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8
set xlabel 'bytes (logarithmic)'
set ylabel what.' (GB/s, logarithmic)' offset 0, 0

# --- text and legend ---
set label 1 joined(model, what.each) at screen 0.02, 0.955 left font big_font(model.'  '.what.each)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #7A5195 #8C6D31 #6B6B6B'
line_dashes = '1 13 12 14 15 16 1 13 12'
line_points = '7 9 5 13 11 15 6 8 4'
of_line(list, i) = word(list, (int(i) - 1) % 9 + 1)
entry_names = ''
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
entry_widths = ''
entry_letters = ''
letters = 'o x + = % & @ $ ~'
if (ceiling ne '') {
    entry_names = exists('ceiling_text') ? '"ceiling: '.ceiling_text.'"' : ceiling eq 'memory' ? '"ceiling: memory, each input read once, each output written once"' : '"ceiling: links, as bare messages around all ranks load them"'
    entry_colours = '#404040'
    entry_points = '0'
    entry_lines = '1'
    entry_boxes = '0'
    entry_widths = '4'
    entry_letters = '#'
}
do for [i = 1:n_lines] {
    entry_names = entry_names.' "'.word(modes, i).'"'
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.of_line(line_points, i)
    entry_lines = entry_lines.' '.of_line(line_dashes, i)
    entry_boxes = entry_boxes.' 0'
    entry_widths = entry_widths.' 2.5'
    entry_letters = entry_letters.' '.of_line(letters, i)
}
load share.'/legend.gp'

# --- lines, with their intervals ---
is_of(l) = strcol(1) eq l && strcol(2) ne 'ceiling'
of(l, k) = is_of(l) && is_shown(cell(3), cell(4)) ? cell(k) : NaN
bar(l, k) = is_of(l) && is_shown(cell(3), cell(4)) && is_number(cell(k)) ? cell(k) : NaN
top(k) = strcol(2) eq 'ceiling' && is_shown(cell(3), cell(4)) ? cell(k) : NaN
set datafile missing NaN
plot for [i = 1:(ceiling eq '' ? 0 : 1)] data using (top(3)):(top(4)) with lines lt 1 lw 4 lc rgb '#404040' notitle, \
    for [i = 1:n_lines] data using (of(word(modes, i), 3)):(of(word(modes, i), 4)):(bar(word(modes, i), 5)):(bar(word(modes, i), 6)) \
        with yerrorbars pt 0 lw 1.2 lc rgb of_line(line_colours, i) notitle, \
    for [i = 1:n_lines] data using (of(word(modes, i), 3)):(of(word(modes, i), 4)) with linespoints lt 1 lw 2.5 dt int(of_line(line_dashes, i)) \
        pt int(of_line(line_points, i)) ps 0.85 * dot lc rgb of_line(line_colours, i) notitle
set output
