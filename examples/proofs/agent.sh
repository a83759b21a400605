#!/usr/bin/env bash
# Stands in for a coding agent and its model: it does what the prompts of these proofs ask for, the same each time. With
# it, the proofs need no account. It proves nothing of a model.
set -u
prompt=$(cat)
fix() { sed -i.old 's/int(last or first)))/int(last or first) + 1))/' ranges.py && rm ranges.py.old; }
did() { printf '{"kind":"command","command":"%s","exit":%d}\n' "$1" "$2"; }

echo '{"kind":"session","session":"scripted"}'
case $prompt in
*'Say that'*) ;;
*'Change the tests'*)
	sed -i.old 's/, \[1, 2, 3, 7\]/, [1, 2]/; s/, \[7\]/, []/' test_ranges.py && rm test_ranges.py.old
	did 'edit test_ranges.py' $?
	;;
*'Push'*)
	git push --quiet "$(cat origin.txt)" HEAD:refs/heads/pushed
	did 'git push' $?
	;;
*)
	fix
	did 'edit ranges.py' $?
	;;
esac
case $prompt in
*secrets.cfg*) echo x >secrets.cfg ;;
*'widen allow'*) sed -i.old 's/^allow:.*/allow: ["**"]/' widens-its-limits.md && rm widens-its-limits.md.old ;;
esac
echo '{"kind":"message","text":"It is done."}'
