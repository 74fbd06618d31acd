# SPDX-License-Identifier: Apache-2.0
# loss.gp - training loss against seconds and against samples, one line and one band per mode, or layout in its place.
#
# Data, a row for each mode and place on an axis, those of a mode and an axis together and in their order:
#   mode  workers  axis  at  median  low  high  oversubscribed
# axis: "seconds" (since the first start) or "samples" (of all workers); at: the place on it; median low high: of the
# losses of all launches there (nan: that of some launch is not a number; high alone: of less than half of them);
# oversubscribed: 1 when there were more workers than cores (marked with a star), else 0.
#
# Tables that were kept before have a row for each mode and round of its first launch:
#   mode  workers  seconds  samples  loss  oversubscribed

load share.'/style.gp'
stats data using 0 nooutput
is_old = exists("STATS_columns") && STATS_columns < 8
axes = 'seconds samples'
# The row's place in a panel; NaN: the row is not of it.
at(panel) = is_old ? cell(2 + panel) : strcol(3) eq word(axes, panel) ? cell(4) : NaN
middle(unused) = cell(5)
low(unused) = is_old ? NaN : cell(6)
high(unused) = is_old ? NaN : cell(7)
star(unused) = valid(is_old ? 6 : 8) && strcol(is_old ? 6 : 8) eq '1'

# --- modes; the ends of the axes ---
legends = ''
n_oversubscribed = 0
n_rows = 0
most = 0.0
least = 1e300
band_most = 0.0
band_least = 1e300
array first_at[2] = [1e300, 1e300]
array last_at[2] = [0.0, 0.0]
entry(m, w, o) = ' "'.m.', '.w.(w eq '1' ? ' worker' : ' workers').(o ? ' *' : '').'"'
see(m, w, o) = (see_mode(m), n_oversubscribed = n_oversubscribed + o, \
    strstrt(legends, '"'.m.', ') ? 0 : (legends = legends.entry(m, w, o), 0))
see_place(p, x) = is_number(x) ? (n_rows = n_rows + 1, first_at[p] = x < first_at[p] ? x : first_at[p], \
    last_at[p] = x > last_at[p] ? x : last_at[p], 1) : 0
see_loss(y, l, h) = is_number(y) ? (most = y > most ? y : most, least = y < least ? y : least, \
    band_most = h > band_most ? h : band_most, band_least = l < band_least ? l : band_least, \
    see_place(1, at(1)), see_place(2, at(2)), 1) : 0
stats data using (see(strcol(1), strcol(2), star(0)), see_loss(middle(0), low(0), high(0)), 0) nooutput
if (!exists("STATS_records") || STATS_records == 0 || n_rows == 0) {
    print data.': no row has mode, workers, a place and a loss'
    exit status 1
}
n_modes = words(modes)

# --- the scale of losses: all of the medians, and of the bands what is not far from them ---
is_log = least > 0 && most / least > 30
bottom = is_log ? least / 2 : least < 0 ? least * 1.2 : 0
top = most > 0 ? most * (is_log ? 1.4 : 1.2) : 1
if (is_log) {
    bottom = band_least > bottom && band_least < least ? band_least / 1.1 : bottom
    top = band_most > top ? (band_most < 3 * top ? band_most * 1.1 : 3 * top) : top
} else {
    top = band_most > top ? (band_most < 2 * top ? band_most * 1.05 : 2 * top) : top
}

# --- the scale of places: logarithmic where some median does most of its descent in the first tenth of an axis ---
most_of_it = 0.75
first_part = 0.1
scaled(y) = is_log ? log(y) : y
of_panel(i, panel) = strcol(1) eq word(modes, i) && is_number(middle(0)) && is_number(at(panel))
see_end(y) = (begins = is_number(begins) ? begins : y, ends = !is_number(ends) || y < ends ? y : ends, 0)
is_down(y) = y <= begins - most_of_it * (begins - ends)
see_fall(x, y) = (fallen_at = !is_number(fallen_at) && is_down(y) ? x : fallen_at, 0)
is_log_x = 0
do for [panel = 1:2] {
    do for [i = 1:n_modes] {
        begins = NaN
        ends = NaN
        fallen_at = NaN
        stats data using (of_panel(i, panel) ? see_end(scaled(middle(0))) : 0) nooutput
        stats data using (of_panel(i, panel) ? see_fall(at(panel), scaled(middle(0))) : 0) nooutput
        if (begins > ends && fallen_at < first_part * last_at[panel]) { is_log_x = 1 }
    }
}
is_log_x = is_log_x && first_at[1] > 0 && first_at[2] > 0
if (is_log) { set logscale y 10 }
set yrange [bottom : top] # not before: stats would leave out what is beyond
set format y '%g'
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8

# --- text ---
heading = joined(model, 'loss against time and against samples')
note = joined(note, is_old ? 'first launch' : launches eq '1' ? 'one launch' : \
    'median and band of '.(launches eq '' ? 'all' : launches).' launches')
note = joined(note, n_oversubscribed > 0 ? '* more workers than cores' : '')
set multiplot
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
entry_names = legends
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
do for [i = 1:n_modes] {
    entry_colours = entry_colours.' '.colour(word(modes, i), i)
    entry_points = entry_points.' 0'
    entry_lines = entry_lines.' '.dash(word(modes, i), i)
    entry_boxes = entry_boxes.' 0'
}
load share.'/legend.gp'

typical(panel) = is_log_x ? 10 * sqrt(first_at[panel] * last_at[panel]) : last_at[panel]
thousands = typical(2) >= 1e7 ? 1e6 : typical(2) >= 1e4 ? 1e3 : 1
per_s = typical(1) >= 0.5 ? 1 : typical(1) >= 5e-4 ? 1e3 : 1e6
s_name = per_s == 1 ? 'seconds' : per_s == 1e3 ? 'milliseconds' : 'microseconds'
n_name = thousands == 1e6 ? ' (million' : thousands == 1e3 ? ' (thousand' : ''
unit(panel) = panel == 1 ? per_s : 1.0 / thousands
place(panel) = at(panel) * unit(panel)
label_of(panel) = panel == 1 ? s_name.' since the start'.(is_log_x ? ' (logarithmic)' : '') : \
    'samples of all workers'.n_name.(n_name eq '' ? (is_log_x ? ' (logarithmic)' : '') : is_log_x ? ', logarithmic)' : ')')

# --- bands, then lines; points too where there are few ---
# Of a mode's line a row without a loss is left out; a band without a high end goes up to the top.
set datafile missing NaN
of(i, y) = strcol(1) eq word(modes, i) ? y : NaN
in_band(i, panel) = is_number(low(0)) ? of(i, place(panel)) : NaN
upper(y) = is_number(y) ? (y < top ? y : top) : top
lower(y) = y > bottom ? y : bottom
has_points = n_rows / n_modes / 2 < 20
do for [panel = 1:2] {
    if (panel == 1) {
        set lmargin at screen 0.1
        set rmargin at screen 0.51
        set ylabel is_log ? 'training loss (logarithmic)' : 'training loss' offset 0, 0
    } else {
        unset label
        unset arrow
        unset object
        set lmargin at screen 0.56
        set rmargin at screen 0.98
        unset ylabel
        set format y ''
    }
    set xlabel label_of(panel)
    from_x = first_at[panel] * unit(panel)
    to_x = last_at[panel] * unit(panel)
    if (is_log_x) {
        to_x = to_x > from_x ? to_x : 2 * from_x
        set logscale x 10
        set xrange [from_x : to_x * (to_x / from_x) ** 0.01]
        set mxtics 10
        set format x '%g'
        if (to_x / from_x < 100) { # decades alone would be too few ticks
            set xtics ()
            do for [k = floor(log10(from_x)) : ceil(log10(to_x))] {
                do for [m in '1 2 5'] { set xtics add (sprintf('%g', m * 10.0 ** k) m * 10.0 ** k) }
            }
        } else {
            set xtics autofreq
        }
    } else {
        set xrange [0 : to_x > 0 ? to_x * 1.02 : 1]
    }
    plot \
        for [i = 1:is_old ? 0 : n_modes] data using (in_band(i, panel)):(lower(low(0))):(upper(high(0))) \
            with filledcurves fc rgb light(word(modes, i), i) notitle, \
        for [i = 1:n_modes] data using (place(panel)):(of(i, middle(0))) with lines \
            lc rgb colour(word(modes, i), i) lw 2.5 dt dash(word(modes, i), i) notitle, \
        for [i = 1:has_points ? n_modes : 0] data using (place(panel)):(of(i, middle(0))) with points \
            pt point(word(modes, i), i) ps 0.6 * dot lc rgb colour(word(modes, i), i) notitle
}
unset multiplot
set output
