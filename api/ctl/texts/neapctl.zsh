#compdef neapctl neapd
# zsh completion for neapctl and neapd, made by 'neapctl completion zsh'.
_neapctl()
{
	local -a asked values shown suffix
	local line kinds=
	asked=(${words[1]} __complete --)
	[[ ${words[1]:t} = neapd ]] && asked=(neapctl __complete --neapd --)
	for line in "${(@f)$(${~asked} "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		'') ;;
		:nospace) suffix=(-S '') ;;
		:*) kinds=$line ;;
		*) values+=("${line%%$'\t'*}")
			shown+=("${line%%$'\t'*}  ${line#*$'\t'}") ;;
		esac
	done
	(( ${#values} )) && compadd $suffix -l -d shown -a values
	[[ -n $kinds && ${words[CURRENT]} = --*=* ]] && compset -P '*='
	case $kinds in
	:file) _files ;;
	:dir) _files -/ ;;
	:command) _command_names -e ;;
	esac
}
if [ "${funcstack[1]}" = _neapctl ]; then _neapctl "$@"
else compdef _neapctl neapctl neapd
fi
