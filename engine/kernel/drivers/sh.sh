# The driver of a session of a POSIX shell: what the loop in shell.go needs, and as in bash.sh
# explained there. A plain shell has no way to print functions, so a restart loses them.
__mm_flags=@FLAGS@ __mm_open= __mm_atexit= __mm_names=

# __mm_get reads one value into __mm_v: a line with the number of lines, and the lines.
__mm_get() {
	IFS= command read -r __mm_c || return 1
	__mm_v=
	while [ "$__mm_c" -gt 0 ]; do
		IFS= command read -r __mm_l || return 1
		__mm_v=$__mm_v$__mm_l'
'
		__mm_c=$((__mm_c - 1))
	done
	__mm_v=${__mm_v%?}
}

# __mm_top says whether this is the shell itself and not a subshell of it.
__mm_top() {
	if [ -r /proc/self/stat ]; then
		IFS=' ' command read -r __mm_p __mm_l </proc/self/stat
	else
		__mm_p=$(exec sh -c 'echo $PPID')
	fi
	[ "$__mm_p" = "$$" ]
}

__mm_trap() {
	[ "${1-}" != -- ] || shift
	if [ $# -lt 2 ] || ! __mm_top; then
		trap "$@"
		return
	fi
	__mm_do=$1
	shift
	for __mm_sig; do
		case $__mm_sig in
		EXIT | 0) if [ "$__mm_do" = - ]; then __mm_atexit=; else __mm_atexit=$__mm_do; fi ;;
		*) trap -- "$__mm_do" "$__mm_sig" ;;
		esac
	done
}

__mm_next() {
	{ [ -z "$__mm_open" ] || __mm_done 0; } 2>/dev/null
	while :; do
		exec </dev/null >@D@/out 2>@D@/err
		IFS= command read -r __mm_number <@D@/in || exit
		case $__mm_number in
		q)
			\trap - EXIT
			[ -z "$__mm_atexit" ] || eval "$__mm_atexit"
			exit 0
			;;
		p*) command printf '%s 0 0\n' "${__mm_number#p}" >@D@/ctl ;;
		b*)
			__mm_params
			command printf '%s 0 0\n' "${__mm_number#b}" >@D@/ctl
			;;
		*) break ;;
		esac
	done
	{
		__mm_get # the notebook's name: $0 cannot be set here
		__mm_get && __mm_lines=$__mm_v
		__mm_get && __mm_dir=$__mm_v
		while __mm_get && [ -n "$__mm_v" ]; do
			__mm_n=$__mm_v
			__mm_get
			__mm_setenv "$__mm_n" "$__mm_v"
		done
		__mm_get
		__mm_code=$__mm_v
	} <@D@/step
	if [ -n "$__mm_dir" ] && ! command cd -- "$__mm_dir"; then
		__mm_code='(exit 1)'
	fi
	[ -z "$__mm_flags" ] || __mm_lines="${__mm_lines}set -$__mm_flags;"
	__mm_code=$__mm_lines$__mm_code __mm_open=1
}

__mm_setenv() {
	eval "__mm_had_$1=\${$1+x} __mm_old_$1=\${$1-}"
	__mm_names="$__mm_names $1"
	export "$1=$2"
}

__mm_unsetenv() {
	while [ -n "$__mm_names" ]; do
		__mm_names=${__mm_names# }
		__mm_n=${__mm_names%% *}
		case $__mm_names in *' '*) __mm_names=${__mm_names#* } ;; *) __mm_names= ;; esac
		if eval "[ -n \"\$__mm_had_$__mm_n\" ]"; then
			eval "$__mm_n=\$__mm_old_$__mm_n"
		else
			unset -v "$__mm_n"
		fi
		unset -v "__mm_had_$__mm_n" "__mm_old_$__mm_n"
	done
}

# __mm_letters keeps of the options that are on those that the driver itself cannot bear.
__mm_letters() {
	__mm_flags=
	for __mm_l in e u x v C f; do
		case $1 in *$__mm_l*) __mm_flags=$__mm_flags$__mm_l ;; esac
	done
}

__mm_done() {
	__mm_o=$-
	set +euxvCf
	__mm_letters "$__mm_o"
	__mm_open=
	__mm_unsetenv
	command printf '%s %s 0\n' "$__mm_number" "$1" >@D@/ctl
	return 0
}

__mm_exit() {
	__mm_o=$-
	set +euxvCf
	\trap - EXIT
	__mm_letters "$__mm_o"
	__mm_unsetenv
	__mm_ppid=$PPID __mm_dir=$PWD __mm_names=' '
	{
		set
		export -p
		command printf 'PPID=%s\n' '$__mm_newppid'
		readonly -p
		alias | while IFS= read -r __mm_l; do command printf 'alias %s\n' "$__mm_l"; done
		trap
		command printf 'umask %s\n' "$(umask)"
		set +o
		command printf 'command cd -- "$__mm_dir"; __mm_names= __mm_open=\n__mm_whole=1\n'
	} >@D@/state
}

__mm_params() {
	while __mm_get && __mm_kind=$__mm_v && __mm_get && __mm_n=$__mm_v && __mm_get; do
		eval "$__mm_n=\$__mm_v"
	done <@D@/params
}

if [ -f @D@/state ]; then
	__mm_newppid=$PPID
	. @D@/state >/dev/null 2>&1
	unset -v __mm_whole
else
	__mm_params
fi
\trap '{ __mm_exit; } 2>/dev/null' EXIT
\trap 'exit 130' INT
\trap 'exit 143' TERM
\alias trap=__mm_trap
\command printf 'hello %s %s\n' "$$" "" >@D@/ctl
