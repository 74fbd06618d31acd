# SPDX-License-Identifier: Apache-2.0
# sweep.gp - what several ways to train give while one value varies: a line for each way.
#
# Data, tab-separated, one row per way and value (scripts/sweep writes it):
#   way  at  throughput  seconds  loss  staleness  lost
# at: a number, or a word (then values stand side by side, in their order); throughput: samples/s; seconds: to the target
# loss, in virtual time (nan: not reached, no point).
# Beside those of style.gp: shows ("throughput" or "seconds"), axis (the name of what varies).

load share.'/style.gp'
column_of = shows eq 'seconds' ? 4 : 3
most = 0.0
least = 1e300
n_words = 0
x_most = -1e300
x_least = 1e300
n_zero = 0
is_value(text) = real(text) != 0 || substr(text, 1, 1) eq '0'
seen(y) = (is_number(y) && y > 0 ? (most = y > most ? y : most, least = y < least ? y : least, 1) : 0)
see(way, at, y) = (see_mode(way), see_count(at), seen(y), n_words = n_words + !is_value(at), \
    x = real(at), n_zero = n_zero + (x <= 0), x_most = x > x_most ? x : x_most, x_least = x < x_least ? x : x_least, 1)
stats data using (see(strcol(1), strcol(2), cell(column_of))) nooutput
if (most <= 0) {
    print data.': no row has '.shows
    exit status 1
}

# --- axes ---
is_log = n_words == 0 && n_zero == 0 && x_most > 4 * x_least
index_of(at) = sum [k = 1:words(counts)] (word(counts, k) eq at ? k : 0)
x_of(at) = n_words > 0 ? index_of(at) : real(at)
if (n_words > 0) {
    set xrange [0.5 : words(counts) + 0.5]
}
if (n_words == 0 && is_log) {
    set logscale x 2
    set xrange [x_least / 1.1 : x_most * 1.1]
}
if (n_words == 0 && !is_log) {
    span = x_most > x_least ? x_most - x_least : 1.0
    set xrange [x_least - 0.04 * span : x_most + 0.04 * span]
}
set xtics ()
do for [k = 1:words(counts)] {
    set xtics add (word(counts, k) x_of(word(counts, k)))
}
set logscale y 10
set yrange [least / 1.4 : most * 1.4]
set format y '%g'
tick_of(y) = sprintf(y >= 1e4 && y < 1e9 ? '%.0f' : '%g', y)
if (most / least < 100) {
    set ytics () nomirror
    do for [k = floor(log10(least / 1.4)) : ceil(log10(most * 1.4))] {
        do for [m in most / least < 5 ? '1 1.5 2 3 4 5 6 8' : '1 2 5'] {
            set ytics add (tick_of(m * 10.0 ** k) m * 10.0 ** k)
        }
    }
}

# --- text ---
heading = joined(model, (shows eq 'seconds' ? 'time to the target loss' : 'throughput').' against '.axis)
note = joined(note, 'simulated, one run each'.(shows eq 'seconds' ? '; no point: not reached' : ''))
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel axis.(is_log ? ' (logarithmic)' : '')
set ylabel shows eq 'seconds' ? 'virtual seconds (logarithmic)' : 'samples/s (logarithmic)'

entry_names = ''
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
all_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #000000 #E69F00 #56B4E9 #8c8c8c'
all_dashes = '1 13 14 15 16 12 11 10'
all_points = '7 9 5 11 13 15 7 9'
turn(i) = int(i - 1) % 8 + 1
do for [i = 1:words(modes)] {
    entry_names = entry_names.' "'.word(modes, i).'"'
    entry_colours = entry_colours.' '.word(all_colours, turn(i))
    entry_points = entry_points.' '.word(all_points, turn(i))
    entry_lines = entry_lines.' '.word(all_dashes, turn(i))
    entry_boxes = entry_boxes.' 0'
}
load share.'/legend.gp'

set datafile missing NaN
of(i) = strcol(1) eq word(modes, i) ? cell(column_of) : NaN
plot for [i = 1:words(modes)] data using (x_of(strcol(2))):(of(i)) with lines \
        lc rgb word(all_colours, turn(i)) lw 2.5 dt int(word(all_dashes, turn(i))) notitle, \
    for [i = 1:words(modes)] data using (x_of(strcol(2))):(of(i)) with points \
        pt int(word(all_points, turn(i))) ps dot lc rgb word(all_colours, turn(i)) notitle
set output
