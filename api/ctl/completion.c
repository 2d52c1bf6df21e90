/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl completion`: the shell scripts that ask for candidates at every TAB
 * (api/ctl/base/shell_complete.h). They only know their shell's conventions. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/base/ctl.h"

static const char bash[] =
	"# bash completion for neapctl and neapd, made by 'neapctl completion bash'.\n"
	"_neap()\n"
	"{\n"
	"\tlocal words=() i word strip= value found asked=(\"$1\" __complete --)\n"
	"\t[ \"${1##*/}\" = neapd ] && asked=(neapctl __complete --neapd --)\n"
	"\t# bash cuts words at \"=\", neap does not.\n"
	"\tfor ((i = 1; i <= COMP_CWORD; i++)); do\n"
	"\t\tif [ ${#words[@]} -gt 0 ] && { [ \"${COMP_WORDS[i]}\" = = ] || [ \"${COMP_WORDS[i-1]}\" = = ]; }; then\n"
	"\t\t\twords[${#words[@]}-1]+=${COMP_WORDS[i]}\n"
	"\t\telse\n"
	"\t\t\twords+=(\"${COMP_WORDS[i]}\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tword=${words[${#words[@]}-1]}\n"
	"\tcase $word in *=*) strip=${word%%=*}= ;; esac\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS=$'\\t' read -r value _; do\n"
	"\t\tcase $value in\n"
	"\t\t:file) compopt -o filenames 2>/dev/null\n"
	"\t\t\tmapfile -t found < <(compgen -f -- \"${word#\"$strip\"}\")\n"
	"\t\t\tCOMPREPLY+=(\"${found[@]}\") ;;\n"
	"\t\t:dir) compopt -o filenames 2>/dev/null\n"
	"\t\t\tmapfile -t found < <(compgen -d -- \"${word#\"$strip\"}\")\n"
	"\t\t\tCOMPREPLY+=(\"${found[@]}\") ;;\n"
	"\t\t:command) mapfile -t found < <(compgen -c -- \"$word\")\n"
	"\t\t\tCOMPREPLY+=(\"${found[@]}\") ;;\n"
	"\t\t:nospace) compopt -o nospace 2>/dev/null ;;\n"
	"\t\t*) COMPREPLY+=(\"${value#\"$strip\"}\") ;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${asked[@]}\" \"${words[@]}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _neap neapctl neapd\n";

static const char zsh[] =
	"#compdef neapctl neapd\n"
	"# zsh completion for neapctl and neapd, made by 'neapctl completion zsh'.\n"
	"_neapctl()\n"
	"{\n"
	"\tlocal -a asked values shown suffix\n"
	"\tlocal line kinds=\n"
	"\tasked=(${words[1]} __complete --)\n"
	"\t[[ ${words[1]:t} = neapd ]] && asked=(neapctl __complete --neapd --)\n"
	"\tfor line in \"${(@f)$(${~asked} \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
	"\t\tcase $line in\n"
	"\t\t'') ;;\n"
	"\t\t:nospace) suffix=(-S '') ;;\n"
	"\t\t:*) kinds=$line ;;\n"
	"\t\t*) values+=(\"${line%%$'\\t'*}\")\n"
	"\t\t\tshown+=(\"${line%%$'\\t'*}  ${line#*$'\\t'}\") ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t(( ${#values} )) && compadd $suffix -l -d shown -a values\n"
	"\t[[ -n $kinds && ${words[CURRENT]} = --*=* ]] && compset -P '*='\n"
	"\tcase $kinds in\n"
	"\t:file) _files ;;\n"
	"\t:dir) _files -/ ;;\n"
	"\t:command) _command_names -e ;;\n"
	"\tesac\n"
	"}\n"
	"if [ \"${funcstack[1]}\" = _neapctl ]; then _neapctl \"$@\"\n"
	"else compdef _neapctl neapctl neapd\n"
	"fi\n";

static const char fish[] =
	"# fish completion for neapctl and neapd, made by 'neapctl completion fish'.\n"
	"function __neap_complete\n"
	"\tset -l before (commandline -opc)\n"
	"\tset -l word (commandline -ct)\n"
	"\tset -l asked $before[1] __complete --\n"
	"\ttest (basename -- $before[1]) = neapd; and set asked neapctl __complete --neapd --\n"
	"\tset -l part (string replace -r '^--[^=]*=' '' -- $word)\n"
	"\tfor line in (command $asked $before[2..-1] \"$word\" 2>/dev/null)\n"
	"\t\tswitch $line\n"
	"\t\tcase :file\n"
	"\t\t\t__fish_complete_path \"$part\"\n"
	"\t\tcase :dir\n"
	"\t\t\t__fish_complete_directories \"$part\"\n"
	"\t\tcase :command\n"
	"\t\t\t__fish_complete_command\n"
	"\t\tcase :nospace\n"
	"\t\tcase '*'\n"
	"\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c neapctl -f -a '(__neap_complete)'\n"
	"complete -c neapd -f -a '(__neap_complete)'\n";

static const struct {
	const char *shell, *script;
} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int run(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_buf out;
	size_t i;

	(void)ctl, (void)values, (void)argc;
	for (i = 0; i < NEAP_ARRAY_LEN(scripts); i++) {
		if (strcmp(argv[0], scripts[i].shell) != 0)
			continue;
		neap_buf_init(&out, NEAP_BUF_FILE);
		neap_buf_adds(&out, scripts[i].script);
		return neap_ctl_print_done(&out);
	}
	return neap_ctl_complainf(NEAP_CTL_USAGE,
				  "there is no script for '%.64s': bash, zsh or fish",
				  argv[0]);
}

const struct neap_command neap_command_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.example = "completion bash >~/.local/share/bash-completion/completions/neapctl",
	.summary = "print the completion script of a shell",
	.text = "For neapctl and neapd. In bash: source <(neapctl completion bash). The script asks neapctl\n"
		"at every TAB, also for names of policies when a daemon answers.\n",
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
