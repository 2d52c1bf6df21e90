# SPDX-License-Identifier: Apache-2.0
#
# Comments wider than 90 columns: awk -f t/columns.awk FILE... C: any line with a part of
# a comment. Other languages: lines that are a comment. Not counted: words that cannot be
# broken, directives (shellcheck, ---@), and what stands in a here-document.

function width(s,   n, i, c)
{
	n = 0
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		n = c == "\t" ? n + 8 - n % 8 : n + 1
	}
	return n
}

function bad() { print FILENAME ":" FNR ": a comment of " width($0) " columns, 90 is the limit"; failed = 1 }

FNR == 1 {
	inside = 0
	until_word = ""
	is_c = FILENAME ~ /\.[ch]$/
	is_shell = FILENAME ~ /\.(sh|t)$/
	mark = FILENAME ~ /\.lua$/ ? "^[ \t]*--+" : FILENAME ~ /\.go$/ ? "^[ \t]*//" : "^[ \t]*#"
}

is_c {
	has = inside
	text = $0
	if (!inside) {
		gsub(/'(\\.|[^'\\])'/, "0", text)
		gsub(/"(\\.|[^"\\])*"/, "0", text)
		at = index(text, "/*")
		if (at || index(text, "//")) has = 1
		if (at && !index(substr(text, at + 2), "*/")) inside = 1
	} else if (index(text, "*/")) {
		inside = 0
	}
	if (has && length($0) > 60 && width($0) > 90) bad()
	next
}

until_word != "" {
	text = $0
	sub(/^\t+/, "", text)
	if (text == until_word) until_word = ""
	next
}

is_shell && /(^|[^<])<<-?['"]?[A-Za-z_]+/ {
	text = $0
	sub(/.*<<-?['"]?/, "", text)
	match(text, /^[A-Za-z_]+/)
	until_word = substr(text, 1, RLENGTH)
}

$0 ~ mark && !/^#!/ && !/^[ \t]*# shellcheck/ && !/^[ \t]*---@/ {
	if (length($0) <= 60 || width($0) <= 90) next
	text = $0
	sub(mark "[ \t]*", "", text)
	if (text ~ / /) bad()
}

END { exit failed }
