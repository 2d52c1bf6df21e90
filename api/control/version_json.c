/* SPDX-License-Identifier: Apache-2.0 */
#include "api/control/version_json.h"

#define MAJOR "1"
#define MINOR "31"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* As Go names them. */
#if defined(__x86_64__)
#define MACHINE "amd64"
#elif defined(__aarch64__)
#define MACHINE "arm64"
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE "riscv64"
#elif defined(__powerpc64__)
#define MACHINE "ppc64le"
#elif defined(__s390x__)
#define MACHINE "s390x"
#else
#define MACHINE "unknown"
#endif

json_t *neap_version_json(void)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name",
		"neapd", "version", NEAP_VERSION, "major", MAJOR, "minor", MINOR,
		"gitVersion", "v" MAJOR "." MINOR ".0+neap-" NEAP_VERSION, "gitCommit",
		"", "gitTreeState", "", "buildDate", "1970-01-01T00:00:00Z", "goVersion",
		"none", "compiler", COMPILER, "platform", "linux/" MACHINE);
}
