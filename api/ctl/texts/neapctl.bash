# bash completion for neapctl and neapd, made by 'neapctl completion bash'.
_neap()
{
	local words=() i word strip='' value found asked=("$1" __complete --)
	[ "${1##*/}" = neapd ] && asked=(neapctl __complete --neapd --)
	# bash cuts words at "=", neap does not.
	for ((i = 1; i <= COMP_CWORD; i++)); do
		if [ ${#words[@]} -gt 0 ] && { [ "${COMP_WORDS[i]}" = = ] || [ "${COMP_WORDS[i-1]}" = = ]; }; then
			words[${#words[@]}-1]+=${COMP_WORDS[i]}
		else
			words+=("${COMP_WORDS[i]}")
		fi
	done
	word=${words[${#words[@]}-1]}
	case $word in *=*) strip=${word%%=*}= ;; esac
	COMPREPLY=()
	while IFS=$'\t' read -r value _; do
		case $value in
		:file) compopt -o filenames 2>/dev/null
			mapfile -t found < <(compgen -f -- "${word#"$strip"}")
			COMPREPLY+=("${found[@]}") ;;
		:dir) compopt -o filenames 2>/dev/null
			mapfile -t found < <(compgen -d -- "${word#"$strip"}")
			COMPREPLY+=("${found[@]}") ;;
		:command) mapfile -t found < <(compgen -c -- "$word")
			COMPREPLY+=("${found[@]}") ;;
		:nospace) compopt -o nospace 2>/dev/null ;;
		*) COMPREPLY+=("${value#"$strip"}") ;;
		esac
	done < <("${asked[@]}" "${words[@]}" 2>/dev/null)
}
complete -F _neap neapctl neapd
