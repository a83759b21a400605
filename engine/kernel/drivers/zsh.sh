# The driver of a zsh session: what the loop in shell.go needs, and as in bash.sh explained there.
typeset -g __mm_flags=@FLAGS@ __mm_atexit=
typeset -ga __mm_env
__mm_env=()
unsetopt global_rcs rcs

# trap keeps what the author sets to run at the end of the session, and leaves EXIT to the driver.
# (zsh ends a trap on EXIT that a function sets with the function; here it lasts for the session.)
trap() {
	if (( ZSH_SUBSHELL > 0 || $# < 2 )) || [[ ! " ${*[2,-1]} " == *" "(EXIT|0)" "* ]]; then
		builtin trap "$@"
		return
	fi
	[[ $1 != -- ]] || shift
	if [[ $1 == - ]]; then __mm_atexit=; else __mm_atexit=$1; fi
	set -- "$1" "${(@)argv[2,-1]:#(EXIT|0)}"
	(( $# < 2 )) || builtin trap -- "$@"
}

__mm_next() {
	emulate -L zsh
	local __mm_n __mm_v __mm_dir __mm_lines
	while :; do
		exec </dev/null >|@D@/out 2>|@D@/err
		IFS= builtin read -r __mm_number <@D@/in || builtin exit
		case $__mm_number in
		q)
			__mm_ending=1
			[[ -z $__mm_atexit ]] || builtin eval "$__mm_atexit"
			builtin exit 0
			;;
		p*) builtin print -r -- "${__mm_number#p} 0 0" >|@D@/ctl ;;
		b*)
			__mm_params
			builtin print -r -- "${__mm_number#b} 0 0" >|@D@/ctl
			;;
		*) break ;;
		esac
	done
	{
		IFS= builtin read -r -d $'\0' __mm_v
		IFS= builtin read -r -d $'\0' __mm_lines
		IFS= builtin read -r -d $'\0' __mm_dir
		while IFS= builtin read -r -d $'\0' __mm_n && [[ -n $__mm_n ]]; do
			IFS= builtin read -r -d $'\0' __mm_v
			__mm_setenv "$__mm_n" "$__mm_v"
		done
		IFS= builtin read -r -d $'\0' __mm_code
	} <@D@/step
	if [[ -n $__mm_dir ]] && ! builtin cd -- "$__mm_dir"; then
		__mm_code='(builtin exit 1)'
	fi
	[[ -z $__mm_flags ]] || __mm_lines+="set -$__mm_flags;"
	__mm_code=$__mm_lines$__mm_code
	return 0
}

__mm_setenv() {
	local __mm_was=unset
	if (( ${(P)+1} )); then
		__mm_was=shell
		[[ ${(Pt)1} != *export* ]] || __mm_was=env
	fi
	__mm_env+=("$1" $__mm_was "${(P)1-}")
	builtin export "$1=$2"
}

__mm_unsetenv() {
	local __mm_n __mm_was __mm_old
	for __mm_n __mm_was __mm_old in "${__mm_env[@]}"; do
		if [[ $__mm_was == unset ]]; then
			builtin unset -v "$__mm_n"
		else
			: ${(P)__mm_n::=$__mm_old}
			[[ $__mm_was != shell ]] || builtin typeset -g +x "$__mm_n"
		fi
	done
	__mm_env=()
}

# __mm_letters keeps of the options that are on those that would reach into the driver.
__mm_letters() {
	__mm_flags=
	[[ $1 != *e* ]] || __mm_flags+=e
	[[ $1 != *u* ]] || __mm_flags+=u
	[[ $1 != *x* ]] || __mm_flags+=x
	[[ $1 != *v* ]] || __mm_flags+=v
}

# The loop has put the author's -e -u -x -v off by now: zsh gives -x back when a function ends.
__mm_done() {
	emulate -L zsh
	__mm_letters "$2"
	__mm_unsetenv
	builtin disown ${(k)jobstates/#/%} 2>/dev/null
	builtin print -r -- "$__mm_number $1 0" >|@D@/ctl
	return 0
}

__mm_exit() {
	[[ -z $__mm_ending ]] || return 0
	{ builtin printf '%s\0' 0 "" "$__mm_at" >|@D@/failed } 2>/dev/null
	{
		local __mm_o=$-
		builtin set +euxv
		local __mm_set="$(builtin set +o)" __mm_n __mm_kept=' '
		builtin alias -L >|@D@/aliases
		emulate zsh
		__mm_letters "$__mm_o"
		__mm_unsetenv
		{
			for __mm_n in ${(ok)parameters}; do
				case $__mm_n:$parameters[$__mm_n] in
				__mm_*|*:*special*|*:*hide*|*:*local*|_:*|ARGC:*|PWD:*|OLDPWD:*|LINENO:*) ;;
				*) builtin typeset -p "$__mm_n"; __mm_kept+="$__mm_n " ;;
				esac
			done
			for __mm_n in PATH IFS PS4 LANG LC_ALL HOME SHLVL; do
				builtin print -r -- "$__mm_n=${(qq)${(P)__mm_n}}"
			done
			builtin typeset -f
			builtin print -r -- "__mm_flags=${(qq)__mm_flags} __mm_atexit=${(qq)__mm_atexit} __mm_kept=${(qq)__mm_kept}"
			builtin print -r -- "umask $(umask)"
			builtin print -r -- "builtin cd -- ${(qq)PWD}"
			builtin print -r -- "$__mm_set"
			__mm_n=@D@
			builtin print -r -- ". ${(qq)__mm_n}/aliases"
			builtin print -r -- 'set +euxv'
			builtin print -r -- '__mm_whole=1'
		} >|@D@/state
	} 2>/dev/null
}

__mm_restore() {
	emulate -L zsh
	local __mm_n
	for __mm_n in ${(k)parameters[(R)*export*]}; do
		[[ $__mm_kept == *" $__mm_n "* || $__mm_n == (PWD|OLDPWD|SHLVL|_) || $parameters[$__mm_n] == *special* ]] || builtin unset -v "$__mm_n"
	done
	builtin unset -v __mm_kept __mm_whole
}

__mm_params() {
	local __mm_kind __mm_name __mm_count __mm_k __mm_v
	while IFS= builtin read -r -d $'\0' __mm_kind && IFS= builtin read -r -d $'\0' __mm_name; do
		IFS= builtin read -r -d $'\0' __mm_count
		case $__mm_kind in
		text) builtin typeset -g "$__mm_name=$__mm_count" ;;
		list)
			builtin typeset -ga "$__mm_name"
			builtin eval "$__mm_name=()"
			while (( __mm_count-- > 0 )); do
				IFS= builtin read -r -d $'\0' __mm_v
				builtin eval "$__mm_name+=(\"\$__mm_v\")"
			done
			;;
		map)
			builtin typeset -gA "$__mm_name"
			while (( __mm_count-- > 0 )); do
				IFS= builtin read -r -d $'\0' __mm_k
				IFS= builtin read -r -d $'\0' __mm_v
				builtin eval "$__mm_name+=(\"\$__mm_k\" \"\$__mm_v\")"
			done
			;;
		esac
	done <@D@/params
}

zmodload zsh/parameter
if [[ -f @D@/state ]]; then
	. @D@/state >/dev/null 2>&1
	__mm_restore
else
	set @PIPEFAIL@
	__mm_params
fi
__mm_ending=
builtin trap '{ __mm_at="$? 1 $LINENO $(($#functrace - 1)) ${${functrace[-2]-}##*:} " } 2>/dev/null; __mm_exit' EXIT
builtin trap 'builtin exit 130' INT
builtin trap 'builtin exit 143' TERM
builtin print -r -- "hello $$ $ZSH_VERSION" >|@D@/ctl
