# SPDX-License-Identifier: Apache-2.0
# cost.gp - where a step's time goes: one stacked bar per mode and worker count, or layout (2x2x1, in the place of workers); parts are told apart by hatching too.
#
# Data, one row per bar, drawn from the top in this order:
#   mode  workers  compute  wait  wire  server  apply  rest  step  oversubscribed  cores
# Parts and step are three columns each, _us _low_us _high_us: the mean in microseconds of a worker's step (nan counts as
# nothing) and its 95 % interval (nan: none), of which that of the step is drawn; oversubscribed: 1 when there were more
# workers than cores (marked with a star), else 0; cores: that it uses, which is not drawn. Tables that were kept before have one column for each part, fewer of
# them, and none for the step.

load share.'/style.gp'
part_colours = '#56B4E9 #F0E442 #E69F00 #CC79A7 #009E73 #999999'
part_patterns = '0 0 4 5 1 6'
part_hatches = '#000000 #000000 #8A5F00 #7D3F63 #00503A #505050' # one colour for each pattern, as SVG knows patterns by number
meanings = '"compute: the gradient" "wait: for slower workers" "wire: transfer" "server: in its queue" "apply: update" "rest: not measured"'

# --- rows from the top, a gap where the mode changes ---
places = ''
last_mode = ''
place = 0.0
most = 0.0
longest_name = 0
n_oversubscribed = 0
n_parts = 6
has_layouts = 0
stats data using 0 nooutput
n_columns = exists("STATS_columns") ? STATS_columns : 0
is_old = n_columns > 3 && n_columns < 24
part_of(value) = is_number(value) ? value : 0
part(k) = is_old ? (k > n_columns - 3 ? 0 : part_of(cell(2 + k))) : part_of(cell(3 * k))
step_low = is_old ? n_columns : 3 * (n_parts + 1) + 1 # of an old table never read: has_interval()
step_high = is_old ? n_columns : step_low + 1
oversubscribed = is_old ? n_columns : step_low + 2
name(m, w, o) = (o > 0 ? '* ' : '').m.' × '.w
short(t) = sprintf(t >= 99.95 ? '%.0f' : t >= 9.995 ? '%.1f' : '%.2f', t)
whole(unused) = sum [k = 1:n_parts] part(k)
has_interval(unused) = !is_old && is_number(cell(step_low)) && is_number(cell(step_high))
low(unused) = cell(step_low) > 0 ? cell(step_low) : 0
far_end(unused) = has_interval(0) && cell(step_high) > whole(0) ? cell(step_high) : whole(0)
n_intervals = 0
see(m, w, t, o) = (has_layouts = has_layouts || strstrt(w, 'x') > 0, n_intervals = n_intervals + has_interval(0), place = place - (m eq last_mode || last_mode eq '' ? 1 : 1.5), last_mode = m, \
    places = places.' '.sprintf('%.1f', place), most = t > most ? t : most, n_oversubscribed = n_oversubscribed + (o > 0), \
    longest_name = strlen(m) > longest_name ? strlen(m) : longest_name, t)
stats data using (see(strcol(1), strcol(2), far_end(0), cell(oversubscribed))) nooutput
n_rows = words(places)
if (!exists("STATS_records") || n_rows == 0 || most <= 0) {
    print data.': no row has mode, workers and parts of a step'
    exit status 1
}
y(row) = real(word(places, int(row) + 1))
divisor = most < 2e4 ? 1 : most < 2e7 ? 1e3 : 1e6
unit_name = divisor == 1 ? 'µs' : divisor == 1e3 ? 'ms' : 's'

# --- text ---
heading = joined(model, 'where the time of a step goes')
note = joined(note, launches eq '' || launches eq '1' ? 'mean of a worker''s steps' : 'arithmetic mean of '.launches.' launches'.(n_intervals > 0 ? ', 95 % interval of the step' : ''))
note = joined(note, n_oversubscribed > 0 ? '* more workers than cores' : '')
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
base_points = format eq 'svg' ? 22 : 17
row_points = int(base_points * (-place > 26 ? 26.0 / -place : 1))
row_points = row_points < 6 ? 6 : row_points
left = 0.03 + 0.0078 * (longest_name + (n_oversubscribed ? 9 : 7)) * row_points / base_points
set lmargin at screen left < 0.08 ? 0.08 : left > 0.4 ? 0.4 : left
set border 1
set grid noy x lt 1 lc rgb '#dcdcdc' lw 0.8
set xtics
set ytics scale 0 font ','.row_points
set xlabel 'time of a step ('.unit_name.'), number at a bar: mean; rows: mode × '.(has_layouts ? 'layout' : 'workers')
set xrange [0 : most / divisor * 1.08]
set yrange [place - 0.8 > -7 ? -7 : place - 0.8 : -0.2] # few bars stay bars
set style fill solid 1 noborder

entry_names = meanings
entry_colours = part_colours
entry_points = '0 0 0 0 0 0'
entry_lines = '0 0 0 0 0 0'
entry_boxes = ''
do for [p = 1:n_parts] { entry_boxes = entry_boxes.sprintf(' %d', 1 + int(word(part_patterns, p))) }
entry_hatches = part_hatches
load share.'/legend.gp'

# --- bars: part p begins where the parts before it end ---
before(p) = p == 1 ? 0 : sum [k = 1:p - 1] part(k)
upto(p) = before(p) + part(p)
plot \
    for [p = 1:n_parts] data using (0):(y($0)):(before(p) / divisor):(upto(p) / divisor): \
        (y($0) - 0.38):(y($0) + 0.38):ytic(name(strcol(1), strcol(2), cell(oversubscribed))) with boxxyerror \
        lc rgb word(part_colours, p) notitle, \
    for [p = 3:n_parts] data using (0):(y($0)):(before(p) / divisor):(upto(p) / divisor): \
        (y($0) - 0.38):(y($0) + 0.38) with boxxyerror fs transparent pattern int(word(part_patterns, p)) noborder \
        lc rgb word(part_hatches, p) notitle, \
    data using (has_interval(0) ? low(0) / divisor : NaN):(y($0)):((cell(step_high) - low(0)) / divisor):(0) \
        with vectors heads size screen 0.0035, 90 lc rgb '#000000' lw 1.8 notitle, \
    data using (far_end(0) / divisor):(y($0)):(short(whole(0) / divisor)) \
        with labels left offset 0.7, 0 font ','.row_points tc rgb '#404040' notitle
set output
