# What the proofs share: repositories with a bug, tasks for the agent that is tried, and verdicts. Read by bash.
# $agent, $program, $model, $endpoint, $credential and $key are the parameters of the proof, $proofs is this folder.

[ -z "$credential" ] || export "$credential=${key-}"
case $program in */*) program=$(realpath "$program") ;; esac

# Makes a repository of the name $1 with the bug and the agent's admission, and with the policy $2, and prints its path.
lab() {
	local at=$TMPDIR/$1
	bash "$proofs/../make-buggy-repo.sh" "$at" >&2
	(
		cd "$at"
		[ -z "$2" ] || echo "policy: {$2}" >markmill.yaml
		markmill agent admit "$agent" ${program:+--program "$program"} ${model:+--model "$model"} \
			${endpoint:+--endpoint "$endpoint"} ${credential:+--credential "$credential"} >&2
		echo "$at" >origin.txt
		task fix "$fix"
		save
	)
	echo "$at"
}

fix='`expand("1-3,7")` of `ranges.py` must return `[1, 2, 3, 7]`: both ends of a range are included. Change only
`ranges.py`. Its tests are in `test_ranges.py`; run them with `python3 -m unittest -q`.'

# Writes the notebook $1.md with the prompt $2, and the attributes $3 of the agent's step.
task() {
	cat >"$1.md" <<-NOTEBOOK
		---
		allow: [ranges.py, test_ranges.py]
		forbid: [secrets.cfg]
		protect: ["test_*.py"]
		require: [diff, tests]
		limits: {files: 2, lines: 20}
		---
		\`\`\`agent {#fix timeout=10m ${3-}}
		$2
		\`\`\`

		\`\`\`bash {#judge .test}
		python3 -m unittest -q
		\`\`\`
	NOTEBOOK
}

# Commits everything.
save() {
	git add --all
	git -c user.name=Example -c user.email=example@localhost -c commit.gpgSign=false commit --quiet --message "Set up"
}

# Runs Markmill with the words after $1, and fails unless the verdict is $1: "pass", or the status with the first code.
# The record that it leaves has to hold.
expect() {
	local want=$1 got
	shift
	got=$(markmill run "$@" --json 2>"$TMPDIR/messages" | python3 -c '
import json, sys
run = json.load(sys.stdin)
print(run["status"], *(b["code"] for b in run.get("blockers") or [] if not b.get("consequence")))') || true
	echo "markmill run $*: $got"
	case " $got " in
	" $want "*) markmill verify last >/dev/null ;;
	*)
		echo "expected: $want" >&2
		cat "$TMPDIR/messages" >&2
		return 1
		;;
	esac
}
