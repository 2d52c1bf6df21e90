# SPDX-License-Identifier: Apache-2.0
#
# Reads raw.tsv of colocation.sh and prints the table of doc/colocation.md: medians of
# ratios paired by round, their quartiles, what was left out and why, and whether each
# goal of P20 is met. Every rule with its number stands in BEGIN and is printed with the
# result. Any POSIX awk.

BEGIN {
	FS = "\t"
	STEAL = 0.01    # share of CPU time that the host took
	OTHERS = 0.06   # of the machine, used by neither service, batch work nor client
	OTHERS_DISK = 0.2 # beside disk work, whose kernel threads and interrupts count as others
	LATE_MS = 5     # of the client
	CANARY_MS = 5   # with nothing beside the service: nobody but the host can hold it up
	PAIRS = 8       # fewer say nothing
	NOISY = 1.5     # upper over lower quartile of "alone"
	P99 = 1.1
	WORK = 0.9
	split("nothing shares idle split cpu-suppress", names, " ")
	for (i in names) is_peer[names[i]] = 1
}

FNR == 1 {
	for (i = 1; i <= NF; i++) column[$i] = i
	width = NF
	next
}
NF != width { cut_short++; next }
{
	point = $column["load"] SUBSEP $column["kind"]
	variant = $column["variant"]
	round = $column["round"] + 0
	key = point SUBSEP variant SUBSEP round
	if (key in is_there) { twice++; next }
	is_there[key] = 1
	if (!(point in is_point)) { is_point[point] = 1; point_at[++points] = point }
	if (!(variant in is_variant)) { is_variant[variant] = 1; variant_at[++variants] = variant }
	if (round > rounds) rounds = round
	p99[key] = $column["p99_ms"] + 0
	p999[key] = $column["p999_ms"] + 0
	over[key] = $column["over_50ms"] + 0
	work[key] = $column["work_per_s"] + 0
	why[key] = ""
	if ($column["steal"] + 0 > STEAL) why[key] = "the host took CPU time"
	else if ($column["others"] + 0 > (variant != "alone" && $column["kind"] == "disk" ? OTHERS_DISK : OTHERS)) why[key] = "others used the machine"
	else if ($column["late_max_ms"] + 0 > LATE_MS) why[key] = "the client was late"
	else if (variant == "alone" && $column["canary_max_ms"] + 0 > CANARY_MS)
		why[key] = "the machine stood still under alone"
	else if (variant == "alone" && $column["errors"] + 0 > 0) why[key] = "errors under alone"
	if ($column["realtime"] + 0 != 1) not_realtime++
}

# --- small statistics on list[1..n] ---

function sort(n,   i, j, x) {
	for (i = 2; i <= n; i++) {
		x = list[i]
		for (j = i - 1; j >= 1 && list[j] > x; j--) list[j + 1] = list[j]
		list[j + 1] = x
	}
}
# Of a sorted list, between neighbours in proportion.
function quantile(n, share,   at, low) {
	if (n == 0) return -1
	at = 1 + (n - 1) * share
	low = int(at)
	return low >= n ? list[n] : list[low] + (at - low) * (list[low + 1] - list[low])
}
# Sorts, and leaves median, lower, upper.
function sum_up(n) {
	sort(n)
	median = quantile(n, 0.5); lower = quantile(n, 0.25); upper = quantile(n, 0.75)
	count = n
}
function span(digits) {
	if (count == 0) return "-"
	return sprintf("%." digits "f (%." digits "f to %." digits "f)", median, lower, upper)
}

# --- one point ---

# Rounds in which "alone" says something: left[round] is why not.
function judge_alone(point,   r, key, n, low, high) {
	split("", left)
	n = 0
	for (r = 1; r <= rounds; r++) {
		key = point SUBSEP "alone" SUBSEP r
		if (!(key in is_there)) left[r] = "no measurement of alone"
		else if (why[key] != "") left[r] = why[key]
		else list[++n] = p99[key]
	}
	sum_up(n)
	low = lower - 1.5 * (upper - lower); high = upper + 1.5 * (upper - lower)
	# Fences that are a hair's breadth apart find outliers where there are none.
	if (low > median / 1.25) low = median / 1.25
	if (high < median * 1.25) high = median * 1.25
	n = 0
	for (r = 1; r <= rounds; r++) {
		if (r in left) continue
		key = point SUBSEP "alone" SUBSEP r
		if (p99[key] < low || p99[key] > high) left[r] = "alone is an outlier"
		else list[++n] = p99[key]
	}
	sum_up(n)
	alone_p99 = span(2); alone_count = n
	alone_noise = n > 0 && lower > 0 ? upper / lower : 0
	n = 0
	for (r = 1; r <= rounds; r++)
		if (!(r in left)) list[++n] = p999[point SUBSEP "alone" SUBSEP r]
	sum_up(n)
	alone_p999 = span(2)
}
function is_good(point, variant, r,   key) {
	key = point SUBSEP variant SUBSEP r
	return !(r in left) && key in is_there && why[key] == ""
}
# Ratios of WHAT of two variants, round by round, summed up.
function compare(what, point, a, b,   r, n, x, y) {
	n = 0
	for (r = 1; r <= rounds; r++) {
		if (!is_good(point, a, r) || !is_good(point, b, r)) continue
		x = what == "p99" ? p99[point, a, r] : what == "p999" ? p999[point, a, r] : work[point, a, r]
		y = what == "p99" ? p99[point, b, r] : what == "p999" ? p999[point, b, r] : work[point, b, r]
		if (y > 0) list[++n] = x / y
	}
	sum_up(n)
}
# The alternative with the lowest p99.9, the one with the most work, and the one with the
# most among those that do not miss the goal for p99; by their medians.
function find_best(point,   i, r, n, v, best, most, most_kept) {
	best_tail = ""; most_work = ""; kept_work = ""
	for (i = 1; i <= variants; i++) {
		v = variant_at[i]
		if (!(v in is_peer)) continue
		n = 0
		for (r = 1; r <= rounds; r++) if (is_good(point, v, r)) list[++n] = p999[point, v, r]
		sum_up(n)
		if (n > 0 && (best_tail == "" || median < best)) { best = median; best_tail = v }
		n = 0
		for (r = 1; r <= rounds; r++) if (is_good(point, v, r)) list[++n] = work[point, v, r]
		sum_up(n)
		if (n == 0) continue
		if (most_work == "" || median > most) { most = median; most_work = v }
		r = median
		compare("p99", point, v, "alone")
		if (at_most(P99) != "missed" && (kept_work == "" || r > most_kept)) { most_kept = r; kept_work = v }
	}
}
function stalls(point, variant,   r, n) {
	n = 0
	for (r = 1; r <= rounds; r++)
		if (is_good(point, variant, r) && over[point, variant, r] > 0 && !over[point, "alone", r]) n++
	return n
}
# met, missed or unclear: whether the median is within, the nearer quartile too far, or
# neither.
function at_most(limit) { return median <= limit ? "met" : lower > limit ? "missed" : "unclear" }
function at_least(limit) { return median >= limit ? "met" : upper < limit ? "missed" : "unclear" }

function judge_variant(point, variant,   tail, done, v99, v999, vwork, vkept, vstall, n, text) {
	compare("p99", point, variant, "alone")
	text = span(2); n = count; v99 = at_most(P99)
	# Where alone itself moves, only a distance beyond its own spread is one.
	if (alone_noise > NOISY && !(v99 == "missed" && lower > P99 * alone_noise)) v99 = "noisy"
	compare("p999", point, variant, "alone")
	text = text " | " span(2)
	v999 = "met"; tail = "-"
	if (best_tail != "" && best_tail != variant) {
		compare("p999", point, variant, best_tail)
		tail = span(2); v999 = at_most(1)
		if (alone_noise > NOISY && v999 != "met" && lower <= alone_noise) v999 = "noisy"
	}
	vwork = "met"; done = "- | -"
	if (most_work != "") {
		compare("work", point, variant, most_work)
		done = span(2); vwork = at_least(WORK)
		vkept = "-"
		if (kept_work != "") {
			compare("work", point, variant, kept_work)
			done = done " | " span(2); vkept = at_least(WORK)
		} else
			done = done " | -"
	}
	vstall = stalls(point, variant)
	text = text " | " tail " | " done " | " vstall " | " n " | "
	if (n < PAIRS) {
		verdict = "too few rounds"
	} else {
		verdict = ""
		if (v99 != "met") verdict = verdict ", p99 " v99
		if (v999 != "met") verdict = verdict ", p99.9 " v999
		if (vwork != "met") verdict = verdict ", work " vwork (vkept == "met" ? " but for p99 kept" : "")
		if (vstall > 0) verdict = verdict ", stalls"
		if (verdict == "") verdict = "met"
		else verdict = substr(verdict, 3)
		gsub(/noisy/, "too noisy to tell", verdict)
	}
	score[variant, "points"]++
	if (n < PAIRS) score[variant, "few"]++
	else if (verdict == "met") score[variant, "all"]++
	if (n >= PAIRS) {
		score[variant, "p99", v99]++; score[variant, "p999", v999]++
		score[variant, "work", vwork]++; score[variant, "kept", vkept]++; score[variant, "stall", vstall ? "missed" : "met"]++
	}
	return text verdict
}

function order_points(   i, j, x) {
	for (i = 2; i <= points; i++) {
		x = point_at[i]
		for (j = i - 1; j >= 1 && rank(point_at[j]) > rank(x); j--) point_at[j + 1] = point_at[j]
		point_at[j + 1] = x
	}
}
function rank(point,   p) {
	split(point, p, SUBSEP)
	return p[1] * 10 + index("cpu,cache,memory,disk", p[2]) / 10
}
# In the order of the argument of colocation.sh: alone, what one would do by hand,
# policies.
function order_variants(   i, j, x) {
	for (i = 2; i <= variants; i++) {
		x = variant_at[i]
		for (j = i - 1; j >= 1 && place(variant_at[j]) > place(x); j--) variant_at[j + 1] = variant_at[j]
		variant_at[j + 1] = x
	}
}
function place(variant,   i) {
	if (variant == "alone") return "0"
	for (i = 1; i in names; i++) if (names[i] == variant) return "1" i
	return "2" variant
}

function left_out(point,   r, i, v, key, text, n, seen) {
	text = ""
	for (r = 1; r <= rounds; r++)
		if (r in left) { n[left[r]]++; seen[left[r]] = seen[left[r]] " " r }
	for (v in n) text = text (text == "" ? "" : "; ") v ": round" (n[v] > 1 ? "s" : "") seen[v]
	split("", n)
	for (i = 1; i <= variants; i++) {
		v = variant_at[i]
		if (v == "alone") continue
		for (r = 1; r <= rounds; r++) {
			key = point SUBSEP v SUBSEP r
			if (!(r in left) && key in is_there && why[key] != "") n[why[key]]++
		}
	}
	for (v in n) text = text (text == "" ? "" : "; ") "single measurements, " v ": " n[v]
	return text == "" ? "nothing" : text
}

# A paragraph in lines of at most 120 columns.
function fold(text,   n, i, words, line, out) {
	n = split(text, words, " ")
	for (i = 1; i <= n; i++) {
		if (line != "" && length(line) + length(words[i]) > 119) { out = out line "\n"; line = "" }
		line = line (line == "" ? "" : " ") words[i]
	}
	return out line "\n"
}

function cell(variant, goal) {
	return sprintf("%d / %d / %d", score[variant, goal, "met"],
		score[variant, goal, "unclear"] + score[variant, goal, "noisy"], score[variant, goal, "missed"])
}

END {
	if (points == 0) { print "colocation-judge: no measurement" > "/dev/stderr"; exit 1 }
	order_points(); order_variants()
	for (p = 1; p <= points; p++) {
		split(point_at[p], part, SUBSEP)
		judge_alone(point_at[p]); find_best(point_at[p])
		about = sprintf("Alone: p99 %s ms, p99.9 %s ms, %d rounds.", alone_p99, alone_p999, alone_count)
		if (alone_noise > NOISY) about = about sprintf(" Its own p99 moves by a factor of %.1f.", alone_noise)
		about = about sprintf(" Best p99.9 of the alternatives: %s; most work: %s, with p99 kept %s. Left out: %s.", \
			best_tail == "" ? "-" : best_tail, most_work == "" ? "-" : most_work, \
			kept_work == "" ? "-" : kept_work, left_out(point_at[p]))
		block = block sprintf("\n### %s %% load, batch work: %s\n\n", part[1], part[2]) fold(about) "\n"
		block = block "| variant | p99 / alone | p99.9 / alone | p99.9 / best | work / most | work / most with p99 kept" \
			" | stalls | pairs | verdict |\n"
		block = block "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
		for (i = 1; i <= variants; i++)
			if (variant_at[i] != "alone")
				block = block "| " variant_at[i] " | " judge_variant(point_at[p], variant_at[i]) " |\n"
	}
	print fold("Medians of ratios paired by round, in brackets the quartiles. Over all " points \
		" points; met / unclear or too noisy / missed:")
	print "| variant | all goals | p99 | p99.9 | work | work, p99 kept | no stall |"
	print "| --- | --- | --- | --- | --- | --- | --- |"
	for (i = 1; i <= variants; i++) {
		v = variant_at[i]
		if (v != "alone")
			printf "| %s | %d of %d | %s | %s | %s | %s | %s |\n", v, score[v, "all"], \
				score[v, "points"] - score[v, "few"], cell(v, "p99"), cell(v, "p999"), cell(v, "work"), \
				cell(v, "kept"), cell(v, "stall")
	}
	printf "\n%s", fold(sprintf("Left out are measurements in which the host took over %g %% of the CPU time, others used " \
		"over %g %% of the machine (%g %% beside disk work, which has kernel threads work for it) or the client was over %g ms late, and rounds of a point in which alone is such a " \
		"one, stood still for over %g ms or is an outlier (1.5 quartile distances, at least a quarter, from the " \
		"quartiles). A goal is missed when also the quartile nearer to it misses it, unclear when only the median does. " \
		"With fewer than %d pairs, and for p99 and p99.9 where the quartiles of alone are a factor of over %g apart, " \
		"nothing is said that its own noise could say.", STEAL * 100, OTHERS * 100, OTHERS_DISK * 100, LATE_MS, CANARY_MS, PAIRS, NOISY))
	if (not_realtime) printf "**%d measurements had a client without real-time priority.**\n", not_realtime
	if (twice || cut_short) printf "%d lines were there twice, %d were cut short: not counted.\n", twice, cut_short
	printf "%s", block
}
