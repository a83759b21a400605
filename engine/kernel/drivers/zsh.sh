# The driver of a zsh session: what the loop in shell.go needs, and as in bash.sh explained there.
typeset -g __mm_flags=@FLAGS@ __mm_atexit= __mm_open= __mm_s=0 __mm_f=
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
	local __mm_n __mm_dir __mm_lines
	{ [[ -z $__mm_open ]] || __mm_done; } 2>/dev/null
	while :; do
		exec </dev/null >|@D@/out 2>|@D@/err
		__mm_number=
		while builtin read -r -u 0 -k __mm_n || builtin exit; [[ $__mm_n != $'\n' ]]; do __mm_number+=$__mm_n; done <@D@/in
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
	local -a __mm_all
	__mm_all=("${(@0)$(<@D@/step)}") # read would want IFS, which may be readonly
	__mm_lines=$__mm_all[2] __mm_dir=$__mm_all[3]
	for (( __mm_n = 4; ${#__mm_all[__mm_n]}; __mm_n += 2 )); do
		__mm_setenv "$__mm_all[__mm_n]" "$__mm_all[__mm_n+1]"
	done
	__mm_code=$__mm_all[__mm_n+1]
	if [[ -n $__mm_dir ]] && ! builtin cd -- "$__mm_dir"; then
		__mm_code='(builtin exit 1)'
	fi
	[[ -z $__mm_flags ]] || __mm_lines+="set -$__mm_flags;"
	__mm_code=$__mm_lines$__mm_code __mm_open=1
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

# The loop has put the author's -e -u -x -v off by now, and kept them in __mm_f: zsh gives -x back when a function ends.
__mm_done() {
	emulate -L zsh
	__mm_open=
	__mm_letters "$__mm_f"
	__mm_unsetenv
	[[ -z @APART@ ]] || builtin disown ${(k)jobstates/#/%} 2>/dev/null
	builtin print -r -- "$__mm_number $__mm_s 0" >|@D@/ctl
	__mm_f=
	return 0
}

__mm_exit() {
	[[ -z $__mm_ending ]] || return 0
	{ builtin printf '%s\0' 0 "" "$__mm_at" >|@D@/failed } 2>/dev/null
	{
		local __mm_o=${__mm_f:-$-}
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
	local __mm_name __mm_i=1 __mm_count
	local -a __mm_all
	__mm_all=("${(@0)$(<@D@/params)}")
	while [[ -n $__mm_all[__mm_i] ]]; do
		__mm_name=$__mm_all[__mm_i+1] __mm_count=$__mm_all[__mm_i+2]
		case $__mm_all[__mm_i] in
		text)
			builtin typeset -g "$__mm_name=$__mm_count"
			__mm_count=0
			;;
		list)
			builtin typeset -ga "$__mm_name"
			builtin eval "$__mm_name=("'"${(@)__mm_all[__mm_i+3,__mm_i+2+__mm_count]}"'")"
			;;
		map)
			(( __mm_count *= 2 ))
			builtin typeset -gA "$__mm_name"
			builtin eval "$__mm_name=("'"${(@)__mm_all[__mm_i+3,__mm_i+2+__mm_count]}"'")"
			;;
		esac
		(( __mm_i += 3 + __mm_count ))
	done
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
