# fish completion for neapctl and neapd, made by 'neapctl completion fish'.
function __neap_complete
	set -l before (commandline -opc)
	set -l word (commandline -ct)
	set -l asked $before[1] __complete --
	test (basename -- $before[1]) = neapd; and set asked neapctl __complete --neapd --
	set -l part (string replace -r '^--[^=]*=' '' -- $word)
	for line in (command $asked $before[2..-1] "$word" 2>/dev/null)
		switch $line
		case :file
			__fish_complete_path "$part"
		case :dir
			__fish_complete_directories "$part"
		case :command
			__fish_complete_command
		case :nospace
		case '*'
			echo $line
		end
	end
end
complete -c neapctl -f -a '(__neap_complete)'
complete -c neapd -f -a '(__neap_complete)'
