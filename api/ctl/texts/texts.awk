# SPDX-License-Identifier: Apache-2.0
#
# Makes C of the texts in this folder, which neapctl prints or writes: neap_ctl_text of
# api/ctl/base/ctl.h. A licence line is not part of a text.
BEGIN {
	print "#include \"api/ctl/base/ctl.h\"\n\n#include <string.h>\n"
	print "const char *neap_ctl_text(const char *name)\n{"
	print "\tstatic const struct {\n\t\tconst char *name, *text;\n\t} texts[] = {"
}
FNR == 1 {
	if (NR > 1)
		print "\t\t},"
	name = FILENAME
	sub(/.*\//, "", name)
	print "\t\t{\"" name "\","
}
/SPDX-License-Identifier/ { next }
{
	gsub(/[\\"]/, "\\\\&")
	gsub(/\t/, "\\t")
	print "\t\t \"" $0 "\\n\""
}
END {
	print "\t\t},\n\t};\n"
	print "\tfor (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++)"
	print "\t\tif (strcmp(texts[i].name, name) == 0)\n\t\t\treturn texts[i].text;"
	print "\treturn NULL;\n}"
}
