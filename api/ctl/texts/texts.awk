# SPDX-License-Identifier: Apache-2.0
#
# Makes C of the texts in this folder, and of the definitions in doc/deploy/crds, which
# neapctl prints, writes or sends: neap_ctl_text and neap_ctl_text_at of
# api/ctl/base/ctl.h. A licence line is not part of a text.
BEGIN {
	print "#include \"api/ctl/base/ctl.h\"\n\n#include <string.h>\n"
	print "static const struct {\n\tconst char *name, *text;\n} texts[] = {"
}
FNR == 1 {
	if (NR > 1)
		print "\t},"
	name = FILENAME
	sub(/.*\//, "", name)
	print "\t{\"" name "\","
}
/SPDX-License-Identifier/ { next }
{
	gsub(/[\\"]/, "\\\\&")
	gsub(/\t/, "\\t")
	print "\t \"" $0 "\\n\""
}
END {
	print "\t},\n};\n"
	print "const char *neap_ctl_text(const char *name)\n{"
	print "\tfor (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++)"
	print "\t\tif (strcmp(texts[i].name, name) == 0)\n\t\t\treturn texts[i].text;"
	print "\treturn NULL;\n}\n"
	print "const char *neap_ctl_text_at(size_t at, const char **ret_name)\n{"
	print "\tif (at >= NEAP_ARRAY_LEN(texts))\n\t\treturn NULL;"
	print "\t*ret_name = texts[at].name;\n\treturn texts[at].text;\n}"
}
