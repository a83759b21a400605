# The driver of a bash session: what the loop in shell.go needs. @D@ is the session's private
# directory, @FLAGS@ what `set` says of the author's code at first. All names of its own begin with __mm_; everything between two
# steps runs in functions, so that the author's traps on DEBUG and ERR do not see it, with the
# author's -e -u -x -v -n off. Redirections name the pipes anew, so it holds no descriptor.
unset -v BASH_EXECUTION_STRING
__mm_flags=@FLAGS@ __mm_open= __mm_atexit= __mm_onerr=- __mm_ondebug=- __mm_env=()

# __mm_note is the trap on ERR while the author has none: it keeps the command that failed, and the one that failed
# before it, for failed.go. It keeps $_, and is not seen under -x. It has no single quote: see trap.
__mm_note='{ __mm_was=$__mm_err __mm_us=$_ __mm_err="$? ${#PIPESTATUS[@]} $LINENO ${#FUNCNAME[@]} ${BASH_LINENO[${#FUNCNAME[@]}?${#FUNCNAME[@]}-1:0]-0} $BASH_COMMAND"; builtin : "$__mm_us"; } 2>/dev/null'

# __mm_traps sets the traps on ERR and DEBUG: the author's, else that one, or none where the author's trap on DEBUG would
# see it. None is '': what a function sets on them stays, what it removes comes back.
__mm_traps() {
	if [[ $__mm_onerr != - ]]; then
		builtin trap -- "$__mm_onerr" ERR
	elif [[ $__mm_ondebug == - ]]; then
		builtin trap -- "$__mm_note" ERR
	else
		builtin trap -- '' ERR
	fi
	builtin trap -- "${__mm_ondebug#-}" DEBUG
}

# trap keeps what the author sets to run at the end of the session, and leaves EXIT to the driver.
trap() {
	local __mm_a=("$@") __mm_do
	[[ ${1-} != -- ]] || __mm_a=("${@:2}")
	if [[ $BASH_SUBSHELL -gt 0 || ${__mm_a[0]-} == -l* ]]; then
		builtin trap "$@"
		return
	fi
	if [[ ${#__mm_a[@]} -lt 1 || ${__mm_a[0]} == -[pP]* ]]; then
		__mm_a=$(builtin trap "$@")
		[[ -z $__mm_atexit ]] || builtin printf "trap -- %q EXIT\n" "$__mm_atexit"
		[[ $__mm_onerr == - ]] || builtin printf "trap -- %q ERR\n" "$__mm_onerr"
		[[ $__mm_ondebug == - ]] || builtin printf "trap -- %q DEBUG\n" "$__mm_ondebug"
		__mm_a=$'\n'$__mm_a
		for __mm_do in "$__mm_end' EXIT" "$__mm_note' ERR" "' ERR" "' DEBUG"; do
			__mm_a=${__mm_a/$'\n'"trap -- '$__mm_do"}
		done
		[[ -z ${__mm_a#$'\n'} ]] || builtin printf '%s\n' "${__mm_a#$'\n'}"
		return
	fi
	__mm_do=${__mm_a[0]}
	local __mm_sig __mm_rest=()
	if [[ ${#__mm_a[@]} -gt 1 ]]; then
		__mm_a=("${__mm_a[@]:1}")
	else
		__mm_do=-
	fi
	for __mm_sig in "${__mm_a[@]}"; do
		case $__mm_sig in
		ERR | err) __mm_onerr=$__mm_do ;;
		DEBUG | debug) __mm_ondebug=$__mm_do ;;
		EXIT | exit | SIGEXIT | 0) if [[ $__mm_do == - ]]; then __mm_atexit=; else __mm_atexit=$__mm_do; fi ;;
		*) __mm_rest+=("$__mm_sig") ;;
		esac
	done
	[[ ${#__mm_rest[@]} -eq 0 ]] || builtin trap -- "$__mm_do" "${__mm_rest[@]}"
	__mm_traps
}

# __mm_next waits for the next step and makes everything ready for it.
__mm_next() {
	{ [[ -z $__mm_open ]] || __mm_done 0; } 2>/dev/null # the step said "continue", to the driver's loop
	local __mm_n __mm_v __mm_dir __mm_lines
	while :; do
		[[ /dev/fd/0 -ef /dev/null && /dev/fd/1 -ef @D@/out && /dev/fd/2 -ef @D@/err ]] ||
			\exec </dev/null >@D@/out 2>@D@/err
		IFS= builtin read -r __mm_number <@D@/in || builtin exit
		case $__mm_number in
		q)
			builtin trap - EXIT
			[[ -z $__mm_atexit ]] || builtin eval "$__mm_atexit"
			builtin exit 0
			;;
		p*) builtin printf '%s 0 0\n' "${__mm_number#p}" >|@D@/ctl ;;
		b*)
			__mm_params
			builtin printf '%s 0 0\n' "${__mm_number#b}" >|@D@/ctl
			;;
		*) break ;;
		esac
	done
	{
		IFS= builtin read -r -d '' __mm_v
		BASH_ARGV0=$__mm_v
		IFS= builtin read -r -d '' __mm_lines
		IFS= builtin read -r -d '' __mm_dir
		while IFS= builtin read -r -d '' __mm_n && [[ -n $__mm_n ]]; do
			IFS= builtin read -r -d '' __mm_v
			__mm_setenv "$__mm_n" "$__mm_v"
		done
		IFS= builtin read -r -d '' __mm_code
	} <@D@/step
	if [[ -n $__mm_dir ]] && ! builtin cd -- "$__mm_dir"; then
		__mm_code='(builtin exit 1)'
	fi
	[[ -z $__mm_flags ]] || __mm_lines+="set -$__mm_flags;"
	__mm_code=$__mm_lines$__mm_code __mm_open=1 __mm_err= __mm_was=
	return 0
}

# __mm_setenv exports a variable for this step and remembers what it was.
__mm_setenv() {
	local __mm_was=unset __mm_has
	if [[ -n ${!1+x} ]]; then
		if [[ ${BASH_VERSINFO[0]} -ge 5 ]]; then
			builtin eval '__mm_has=${!1@a}'
		else
			__mm_has=$(builtin declare -p "$1") __mm_has=${__mm_has%%=*} __mm_has=${__mm_has% *}
			__mm_has=${__mm_has#declare}
		fi
		__mm_was=shell
		[[ $__mm_has != *x* ]] || __mm_was=env
	fi
	__mm_env+=("$1" "$__mm_was" "${!1-}")
	builtin export "$1=$2"
}

# __mm_unsetenv puts back what __mm_setenv replaced.
__mm_unsetenv() {
	local __mm_i __mm_n
	for ((__mm_i = 0; __mm_i < ${#__mm_env[@]}; __mm_i += 3)); do
		__mm_n=${__mm_env[__mm_i]}
		if [[ ${__mm_env[__mm_i + 1]} == unset ]]; then
			builtin unset -v "$__mm_n"
		else
			builtin printf -v "$__mm_n" %s "${__mm_env[__mm_i + 2]}"
			[[ ${__mm_env[__mm_i + 1]} != shell ]] || builtin export -n "$__mm_n"
		fi
	done
	__mm_env=()
}

# __mm_done takes the step's environment back and says how the step ended.
__mm_done() {
	__mm_flags=$-
	builtin set +euxvnET
	__mm_flags=${__mm_flags//[!euxvET]/}
	__mm_open=
	__mm_unsetenv
	[[ $1 == 0 ]] || builtin printf '%s\0' - "$__mm_was" "$__mm_err" >|@D@/failed
	[[ -z @APART@ ]] || builtin disown -a # else bash would tell of the end of each
	builtin printf '%s %s 0\n' "$__mm_number" "$1" >|@D@/ctl
	return 0
}

# __mm_exit keeps the state of a shell that the author's code ends, for the next one.
__mm_exit() {
	local __mm_f=$-
	builtin set +euxvnET
	builtin trap - EXIT ERR DEBUG
	builtin printf '%s\0' "$__mm_at" "$__mm_onerr$__mm_ondebug" "$__mm_err" >|@D@/failed
	local __mm_ifs=$IFS __mm_n __mm_names=' ' __mm_gone=' '
	local IFS=$' \t\n'
	__mm_flags=${__mm_f//[!euxvET]/}
	__mm_unsetenv
	# Variables local to the function that called exit end with it.
	while IFS= builtin read -r __mm_n; do
		[[ $__mm_n != 'declare '-*' '*=* ]] || __mm_n=${__mm_n#declare * } __mm_gone+=${__mm_n%%=*}\ 
	done <<<"$__mm_locals"
	{
		builtin shopt -p
		for __mm_n in $(builtin compgen -v); do
			case $__mm_n in
			__mm_* | BASH | BASHOPTS | BASHPID | BASH_* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | \
				HISTCMD | IFS | LINENO | PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SRANDOM | UID | _) ;;
			*)
				[[ $__mm_gone == *" $__mm_n "* ]] || builtin declare -p "$__mm_n"
				__mm_names+="$__mm_n "
				;;
			esac
		done
		builtin printf 'IFS=%q\n' "$__mm_ifs"
		builtin declare -f
		builtin alias -p
		builtin trap -p
		[[ $__mm_onerr == - ]] || builtin printf 'trap -- %q ERR\n' "$__mm_onerr"
		[[ $__mm_ondebug == - ]] || builtin printf 'trap -- %q DEBUG\n' "$__mm_ondebug"
		builtin printf '__mm_atexit=%q __mm_flags=%q __mm_kept=%q\n' "$__mm_atexit" "$__mm_flags" "$__mm_names"
		builtin umask -p
		builtin set +o
		builtin printf 'builtin cd -- %q\n' "$PWD"
		builtin printf '__mm_whole=1\n'
	} >|@D@/state
}

# __mm_restore puts right what the state file cannot say: what the author had unset.
__mm_restore() {
	local __mm_n IFS=$' \t\n'
	for __mm_n in $(builtin compgen -e); do
		[[ $__mm_kept == *" $__mm_n "* || $__mm_n == [_PS]* ]] || builtin unset -v "$__mm_n"
	done
	builtin unset -v __mm_kept __mm_whole
}

# __mm_params sets the parameters: a kind, a name and values, each ended by NUL. Only names,
# which the engine has checked, are ever part of what is evaluated.
__mm_params() {
	local __mm_kind __mm_name __mm_count __mm_k __mm_v
	while IFS= builtin read -r -d '' __mm_kind && IFS= builtin read -r -d '' __mm_name; do
		IFS= builtin read -r -d '' __mm_count
		case $__mm_kind in
		text) builtin printf -v "$__mm_name" %s "$__mm_count" ;;
		list)
			builtin eval "$__mm_name=()"
			for ((; __mm_count > 0; __mm_count--)); do
				IFS= builtin read -r -d '' __mm_v
				builtin eval "$__mm_name+=(\"\$__mm_v\")"
			done
			;;
		map)
			if [[ ${BASH_VERSINFO[0]} -lt 4 || $BASH_VERSION == 4.[01].* ]]; then
				builtin echo "a map as a parameter ($__mm_name) needs bash 4.2 or newer, this is $BASH_VERSION" >&2
				builtin exit 1
			fi
			builtin declare -gA "$__mm_name=()"
			for ((; __mm_count > 0; __mm_count--)); do
				IFS= builtin read -r -d '' __mm_k
				IFS= builtin read -r -d '' __mm_v
				builtin eval "$__mm_name[\$__mm_k]=\$__mm_v"
			done
			;;
		esac
	done <@D@/params
}

# The session begins with the parameters, or with what the shell before left.
if [[ -f @D@/state ]]; then
	. @D@/state >/dev/null 2>&1
	__mm_restore
else
	set @PIPEFAIL@
	__mm_params
fi
__mm_traps
__mm_end='{ __mm_at="${#FUNCNAME[@]} ${BASH_LINENO[${#FUNCNAME[@]}?${#FUNCNAME[@]}-1:0]-0}"; __mm_locals=$(local -p) || :; __mm_exit; } 2>/dev/null'
builtin trap "$__mm_end" EXIT
builtin printf 'hello %s %s\n' "$$" "$BASH_VERSION" >@D@/ctl
