# SPDX-License-Identifier: Apache-2.0
#
# Makes one C file of api/kube/types/*.types: the tables of the built-in kinds. The lines
# of those files:
#
#   in PREFIX                   prefix of the names of the types that follow
#   type NAME [WORD...]: DOC    a type; its fields follow. Words: atomic (server-side
#                               apply replaces it as a whole), open (keeps unknown ones),
#                               null=JSON (what a null among its items becomes), as=C (its
#                               name in C)
#   fields NAME                 fields that types include; not a type
#   NUMBER FIELD TYPE [WORD...] [: DOC]
#                               a field. NUMBER is its protobuf number: - for none; ~N is
#                               skipped, and no field without a TYPE; M.N is number N of
#                               the message in field M, whose fields JSON has here
#   + NAME, +M NAME             the fields of NAME (with numbers M.N), except those that
#                               this type has itself
#   kind X GROUP/VERSION,... KIND PLURAL SINGULAR [SHORT...]
#                               a kind, of the type before it. X: its name in C
#   body X KIND [GROUP/VERSION...]
#                               a request body of that type (api/kube/types/bodies.h)
#   table X KIND...             neap_kube_X_kinds, in the order of discovery
#
# TYPE: a name, any string int32 int64 number bool int-or-string quantity time micro-time
# bytes, <VALUE,...> of an enum, [TYPE] a list, {TYPE} a map, any(NAME) anything, which
# has the fields of NAME where it is an object. It ends in ? where Go has a pointer: a
# zero value is a value; in ! where it is required, too. Without them zero is missing, in
# JSON and in protobuf. A number of protobuf that ends in + or - has it the other way:
# with + zero is a value, with - it is not.
#
# Words of a field: =JSON its default; key=FIELD[,FIELD] it merges as a map, set as a set;
# replaced: not merged but replaced. Lines of a kind: words that set members of struct
# neap_kube_kind (shared: it is neap_kube_X in C); scale PATH PATH PATH; calls
# NAME[=FUNCTION]...; select FIELD...; warn VERSION TEXT; form VERSION TYPE (bodies of
# that version); view KIND NULLED STORED=SHOWN...; columns KIND (those of that kind);
# column NAME TYPE [wide] [PATH or PUT [FROM [OTHER]]] : DOC, in whose NAME _ is a space
# (column Name and column Age need no more).
BEGIN {
	n = split("any string int32 int64 number quantity time bytes", words, " ")
	for (i = 1; i <= n; i++)
		scalar[words[i]] = "neap_schema_" words[i]
	scalar["bool"] = "neap_schema_boolean"
	scalar["int-or-string"] = "neap_schema_int_or_string"
	scalar["micro-time"] = "neap_schema_micro_time"
	scalar["[string]"] = "neap_schema_strings"
	scalar["{string}"] = "neap_schema_string_map"
	scalar["{quantity}"] = "neap_schema_quantity_map"
	scalar["{bytes}"] = "neap_schema_bytes_map"
	name_of["Name"] = " string name : Name of the object, the only one of its kind in the namespace."
	name_of["Age"] = " string age : Time since the object was made."
	flag["namespaced"] = "is_namespaced"
	flag["status"] = "has_status"
	flag["status_labels"] = "status_has_labels"
	flag["put_needs_version"] = "needs_version"
	flag["put_creates"] = "is_made_by_update"
	flag["named_only"] = "is_named_only"
	flag["deleted_singly"] = "is_deleted_singly"
	flag["shows_deleted"] = "shows_deleted"
}

function bad(text) {
	print (ended ? "" : FILENAME ":" FNR ": ") text | "cat >&2"
	failed = 1
}

function quote(text) {
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	return "\"" text "\""
}

# {"a", "b", NULL} of words from the first on.
function texts(words, first, count,   i, out) {
	for (i = first; i <= count; i++)
		out = out quote(words[i]) ", "
	return "(const char *const[]){" out "NULL}"
}

# What stands behind the first such mark; the line becomes what is before it.
function cut(mark,   at, rest) {
	at = index($0, mark)
	if (!at)
		return ""
	rest = substr($0, at + length(mark))
	$0 = substr($0, 1, at - 1)
	return rest
}

/^#/ || !NF {
	next
}
/\\$/ {
	held = held substr($0, 1, length($0) - 1)
	next
}
held != "" {
	$0 = held $0
	held = ""
}
$1 == "in" && !/^\t/ {
	prefix = $2
	next
}
$1 == "fields" && !/^\t/ {
	now = $2
	in_kind = 0
	next
}
$1 == "type" && !/^\t/ {
	doc = cut(": ")
	now = prefix "." $2
	if (now in doc_of)
		bad(now " stands here again")
	types[++type_count] = now
	doc_of[now] = doc
	prefix_of[now] = prefix
	named[$2]++
	with_name[$2] = now
	c_of[now] = now
	gsub(/[^A-Za-z0-9]/, "_", c_of[now])
	for (i = 3; i <= NF; i++) {
		if ($i == "atomic")
			more_of[now] = more_of[now] "\t.is_atomic = true,\n"
		else if ($i == "open")
			more_of[now] = more_of[now] "\t.keeps_unknown = true,\n"
		else if (sub(/^null=/, "", $i))
			more_of[now] = more_of[now] "\t.fallback = " quote($i) ",\n"
		else if (sub(/^as=/, "", $i))
			public[now] = c_of[now] = $i
		else
			bad("no word of a type: " $i)
	}
	in_kind = 0
	next
}
$1 == "kind" && !/^\t/ {
	in_kind = 1
	kind = $2
	split($3, parts, "/")
	version_count = split(parts[2], versions, ",")
	kind_type[kind] = now
	kind_c[kind] = "kind_" kind
	kinds[++kind_count] = kind
	kind_row[kind] = "\t.group = " quote(parts[1] == "core" ? "" : parts[1]) ",\n" \
		"\t.versions = " texts(versions, 1, version_count) ",\n" \
		"\t.kind = " quote($4) ",\n\t.list_kind = " quote($4 "List") ",\n" \
		"\t.plural = " quote($5) ",\n\t.singular = " quote($6) ",\n"
	if (NF > 6) {
		split($0, parts, " ")
		kind_row[kind] = kind_row[kind] "\t.short_names = " texts(parts, 7, NF) ",\n"
	}
	next
}
$1 == "body" && !/^\t/ {
	split($0, parts, " ")
	bodies[++body_count] = $2
	body_row[$2] = quote($3) ", " (NF > 3 ? texts(parts, 4, NF) : "NULL")
	body_type[$2] = now
	next
}
$1 == "table" && !/^\t/ {
	tables[++table_count] = $0
	next
}
!/^\t/ {
	bad("what is this?")
	next
}
!in_kind {
	line_of[now, ++lines[now]] = substr($0, 2)
	next
}

# --- lines of kinds ---

function add(member, value) {
	kind_row[kind] = kind_row[kind] "\t." member " = " value ",\n"
}

# {NULL, VALUE} by the version.
function by_version(version, value,   i, out) {
	for (i = 1; i <= version_count; i++)
		out = out (versions[i] == version ? value : "NULL") ", "
	return "{" out "}"
}
$1 == "scale" {
	add("replicas_path", quote($2))
	add("status_replicas_path", quote($3))
	add("selector_path", quote($4))
	next
}
$1 == "calls" {
	for (i = 2; i <= NF; i++) {
		split($i, parts, "=")
		add(parts[1], "neap_kube_" (parts[2] ? parts[2] : parts[1] "_" kind))
	}
	next
}
$1 == "select" {
	split($0, parts, " ")
	add("fields", texts(parts, 2, NF))
	next
}
$1 == "warn" {
	text = $0
	sub(/^\t[^ ]+ [^ ]+ /, "", text)
	add("warnings", "(const char *const[])" by_version($2, quote(text)))
	next
}
$1 == "form" {
	form_of[kind] = $3
	form_version[kind] = $2
	next
}
$1 == "view" {
	text = ""
	for (i = 4; i <= NF; i++) {
		split($i, parts, "=")
		text = text "\t\t{" quote(parts[1]) ", " quote(parts[2]) "},\n"
	}
	add("view", "&(const struct neap_kube_view){.of = &kind_" $2 ", .nulled = " quote($3) \
		",\n\t\t.names = (const struct neap_kube_name[]){\n" text "\t\t{NULL, NULL}}}")
	next
}
$1 == "columns" {
	columns_as[kind] = $2
	next
}
$1 == "column" {
	if (NF == 2)
		$0 = $0 (name_of[$2] != "" ? name_of[$2] : bad("no column: " $2))
	doc = cut(" : ")
	name = $2
	gsub(/_/, " ", name)
	text = "\t{.name = " quote(name) ", .type = " quote($3) ", .format = " quote(name == "Name" ? "name" : "")
	i = 4
	if ($i == "wide") {
		text = text ", .priority = 1"
		i++
	}
	if ($i ~ /^\./)
		text = text ", .path = " quote($i)
	else if ($i != "")
		text = text ", .put = neap_kube_put_" $i ", .from = " quote($(i + 1)) ", .other = " quote($(i + 2))
	column_of[kind] = column_of[kind] text ",\n\t .doc = " quote(doc) "},\n"
	next
}
{
	for (i = 1; i <= NF; i++) {
		split($i, parts, "=")
		if ($i in flag)
			add(flag[$i], "true")
		else if ($i == "shared")
			kind_c[kind] = "neap_kube_" kind
		else if (parts[1] == "generation")
			add("generation", "NEAP_GENERATION_" toupper(parts[2]))
		else if (parts[1] == "category")
			add("categories", "(const char *const[]){" quote(parts[2]) ", NULL}")
		else
			bad("no word of a kind: " $i)
	}
}

# --- all of it ---

# The full name of a type that one with that prefix calls so.
function full(name, from) {
	if ((from "." name) in doc_of)
		return from "." name
	if (name in doc_of)
		return name
	if (named[name] != 1)
		bad("no type, or several: " name " (in " from ")")
	return with_name[name]
}

# The schema of a TYPE, in C; what has no name is written out at its first use.
function schema(type, from,   inner, name, parts, n) {
	if (type in scalar)
		return "&" scalar[type]
	if (type ~ /^[A-Za-z0-9.-]+$/)
		return "&" c_of[full(type, from)]
	if (type ~ /^</) {
		n = split(substr(type, 2, length(type) - 2), parts, ",")
		inner = ".type = NEAP_SCHEMA_STRING, .values = " texts(parts, 1, n)
	} else if (type ~ /^any\(/) {
		name = full(substr(type, 5, length(type) - 5), from)
		inner = ".type = NEAP_SCHEMA_ANY, .fields = " c_of[name] "_fields, .field_count = NEAP_ARRAY_LEN(" c_of[name] "_fields)"
	} else {
		inner = schema(substr(type, 2, length(type) - 2), from)
		inner = ".type = NEAP_SCHEMA_" (type ~ /^\[/ ? "LIST" : "MAP") ", .items = " inner
	}
	if (!(inner in known)) {
		known[inner] = "&part_" (++part_count)
		part_text = part_text "static const struct neap_schema part_" part_count " = {" inner "};\n"
	}
	return known[inner]
}

# Adds the fields of NAME to those of TYPE, with the number WITHIN before theirs; the last
# line of a field counts.
function expand(type, name, within,   i, line, parts) {
	for (i = 1; i <= lines[name]; i++) {
		line = line_of[name, i]
		split(line, parts, " ")
		if (line ~ /^\+/) {
			expand(type, parts[2] in lines ? parts[2] : full(parts[2], prefix_of[type]), substr(parts[1], 2))
			continue
		}
		if (!((type, parts[2]) in field_line))
			field_name[type, ++name_count[type]] = parts[2]
		field_line[type, parts[2]] = (within != "" && line !~ /^[-~]/ ? within "." : "") line
	}
}

# Notes that a message has a field of that number.
function number(message, at, text) {
	if ((message, at) in number_of)
		bad(message ": number " at " twice")
	number_of[message, at] = text
	if (!(message in number_max))
		messages[++message_count] = message
	if (at > number_max[message])
		number_max[message] = at
}

# {.name = ..., ...} of a line of a field; its number is noted.
function field(type, line,   doc, at, parts, n, i, text, mark, name, zero, keys) {
	at = index(line, " : ")
	doc = at ? quote(substr(line, at + 3)) : "NULL"
	n = split(at ? substr(line, 1, at - 1) : line, parts, " ")
	name = parts[2]
	text = "\t{.name = " quote(name)
	if (n > 2) {
		mark = substr(parts[3], length(parts[3]))
		if (mark ~ /[?!]/)
			parts[3] = substr(parts[3], 1, length(parts[3]) - 1)
		zero = mark ~ /[?!]/ && (parts[3] ~ /^(string|int32|int64|bool|int-or-string)$/ || parts[3] ~ /^</)
		text = text ", .schema = " schema(parts[3], prefix_of[type])
		text = text (mark == "!" ? ", .is_required = true" : mark == "?" ? "" : ", .zero_is_missing = true")
	}
	for (i = 4; i <= n; i++) {
		if (parts[i] ~ /^=/) {
			text = text ", .fallback = " quote(substr(parts[i], 2))
		} else if (parts[i] ~ /^key=/) {
			at = split(substr(parts[i], 5), keys, ",")
			text = text ", .merge = NEAP_LIST_MAP, .merge_key = " quote(keys[1])
			if (at > 1)
				text = text ", .other_key = " quote(keys[2])
		} else if (parts[i] == "set") {
			text = text ", .merge = NEAP_LIST_SET"
		} else if (parts[i] == "replaced") {
			text = text ", .retains_keys = true"
		} else {
			bad(type "." name ": no word of a field: " parts[i])
		}
	}
	if (parts[1] != "-") {
		at = parts[1]
		mark = at ~ /^~/ ? "~" : at ~ /[+]$/ || (zero && at !~ /-$/) ? "*" : ""
		gsub(/[~+-]/, "", at)
		if (split(at, parts, ".") > 1) {
			if (!((type, parts[1] + 0) in number_of))
				number(type, parts[1] + 0, ">" type "." parts[1])
			number(type "." parts[1], parts[2] + 0, mark name)
		} else {
			number(type, at + 0, mark name)
		}
	}
	return n > 2 ? text ", .doc = " doc "},\n" : ""
}

function sort(list, count,   i, k, held) {
	for (i = 2; i <= count; i++) {
		held = list[i]
		for (k = i - 1; k > 0 && list[k] > held; k--)
			list[k + 1] = list[k]
		list[k + 1] = held
	}
}

function put_type(type,   i, text, row) {
	expand(type, type, "")
	for (i = 1; i <= name_count[type]; i++) {
		row = field(type, field_line[type, field_name[type, i]])
		if (row != "")
			field_count[type]++
		text = text row
	}
	fields_of[type] = text
}

function put_numbers(message,   i, text) {
	for (i = 1; i <= number_max[message]; i++)
		text = text ((message, i) in number_of ? quote(number_of[message, i]) : "NULL") ", "
	print "\tNUMBERS(" quote(message) ", " text "),"
}

END {
	ended = 1
	if (held != "")
		bad("the last line goes on")
	print "/* Made by api/kube/types/types.awk. */"
	print "#include \"api/kube/openapi/proto.h\""
	print "#include \"api/kube/print/cells.h\""
	print "#include \"api/kube/rules/rules.h\""
	print "#include \"api/kube/types/bodies.h\""
	print "#include \"api/kube/types/metrics.h\"\n"
	for (i = 1; i <= type_count; i++)
		put_type(types[i])
	for (i = 1; i <= type_count; i++) {
		if (!(types[i] in public))
			print "static const struct neap_schema " c_of[types[i]] ";"
		if (field_count[types[i]])
			print "static const struct neap_schema_field " c_of[types[i]] "_fields[" field_count[types[i]] "];"
	}
	printf "%s", part_text
	for (i = 1; i <= type_count; i++) {
		type = types[i]
		if (field_count[type])
			print "static const struct neap_schema_field " c_of[type] "_fields[] = {\n" fields_of[type] "};"
		print (type in public ? "" : "static ") "const struct neap_schema " c_of[type] " = {\n\t.name = " quote(type) \
			",\n\t.doc = " quote(doc_of[type]) ",\n\t.type = NEAP_SCHEMA_OBJECT,"
		if (field_count[type])
			print "\t.fields = " c_of[type] "_fields,\n\t.field_count = " field_count[type] ","
		print more_of[type] "};"
	}
	for (i = 1; i <= kind_count; i++) {
		kind = kinds[i]
		if (kind in column_of)
			print "static const struct neap_kube_column columns_" kind "[] = {\n" column_of[kind] "};"
		name = "columns_" (kind in columns_as ? columns_as[kind] : kind)
		add("columns", name)
		add("column_count", "NEAP_ARRAY_LEN(" name ")")
		if (kind in form_of) {
			n = 0
			text = kind_row[kind]
			sub(/.*\.versions = \(const char \*const\[\]\){/, "", text)
			sub(/}.*/, "", text)
			version_count = split(text, versions, ", ") - 1
			for (k = 1; k <= version_count; k++)
				gsub(/"/, "", versions[k])
			add("bodies", "(const struct neap_schema *const[])" \
				by_version(form_version[kind], "&" c_of[full(form_of[kind], "")]))
		}
		print (kind_c[kind] ~ /^kind_/ ? "static " : "") "const struct neap_kube_kind " kind_c[kind] " = {\n" kind_row[kind] \
			"\t.schema = &" c_of[kind_type[kind]] ",\n};"
	}
	for (i = 1; i <= body_count; i++)
		print "const struct neap_kube_body neap_kube_body_" bodies[i] " = {" body_row[bodies[i]] ", &" \
			c_of[body_type[bodies[i]]] "};"
	for (i = 1; i <= table_count; i++) {
		n = split(tables[i], words, " ")
		print "const struct neap_kube_kind *const neap_kube_" words[2] "_kinds[] = {"
		for (k = 3; k <= n; k++)
			print "\t&" kind_c[words[k]] ","
		print "\tNULL};"
	}
	sort(messages, message_count)
	print "static const struct proto_numbers numbers[] = {"
	for (i = 1; i <= message_count; i++)
		put_numbers(messages[i])
	print "};\nconst struct proto_table neap_kube_proto_numbers = {numbers, NEAP_ARRAY_LEN(numbers)};"
	exit failed
}
