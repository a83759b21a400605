package help

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/notebooks"
	"markmill/render/plain"
)

// Elsewhere says which command does what a word stands for that is no command: a word of other programs, or the words
// of a command line below a group. {1} and {2} stand for the first arguments, {} for those that are left. A {1}
// without an argument is left out, and so is the = before a {2}.
var Elsewhere = map[string]string{
	"alert": "health alerts list", "alerts": "health alerts {}", "agents": "agent {}", "bisect": "notebook bisect {}",
	"clean": "runs prune", "compare": "diff --values {}", "digest": "health digest {}", "execute": "run {}",
	"exec": "run {}", "fork": "resume {1} --at STEP", "gate": "status --gate {}", "gc": "runs prune",
	"history": "list --notebook {1}", "info": "show {}", "init": "new {}", "inspect": "check --show {}",
	"jobs": "queue {}", "lanes": "run {} --attempts 3", "last": "show last", "log": "show {1} --log={2}",
	"logs": "show {1} --log={2}", "ls": "list", "maintenance": "runs sizes", "merge": "notebook merge {}",
	"open": "show {1} --open", "prune": "runs prune", "push": "runs push {}", "pull": "runs pull {}",
	"query": "list --query {}", "reindex": "runs maintain reindex", "replay": "show {1} --events",
	"rerun": "verify {1} --rerun", "retry": "resume {1}", "scheduler": "schedule serve", "scraps": "notebook scraps {}",
	"server": "serve", "slo": "health slo {}", "stats": "list --stats", "steer": "runs steer {}",
	"strip": "notebook strip {}", "submit": "queue submit {}", "summary": "agent summary",
	"sweep": "run {} --matrix NAME=VALUE,VALUE", "trace": "show {1} --trace", "undo": "revert {}",
	"validate": "check {}", "watch": "run --watch {}", "worker": "queue worker {}", "workbench": "serve",
	"accept": "runs accept {}", "reject": "runs reject {}", "abort": "runs abort {}", "cancel": "runs abort {}",
	"attest": "runs attest {}", "fetch": "runs fetch {}", "reconcile": "runs maintain reconcile",

	"jobs approve": "approve {}", "jobs deny": "deny {}", "jobs resume": "queue unpause {}",
	"queue log": "queue show {}", "queue resume": "queue unpause {}", "runs install": "runs maintain install",
	"schedule resume": "schedule unpause {}", "schedule run": "schedule run-due {}",
}

// UnknownCommand is the error of a command line whose command does not exist. It comes before the options are read, so
// that it can name all that was given.
func UnknownCommand(root *cobra.Command, args []string) error {
	c := root
	for i, word := range args {
		if strings.HasPrefix(word, "-") || !c.HasSubCommands() || c == root && (word == "help" ||
			word == "completion") {
			return nil
		}
		below, _, err := c.Find([]string{word})
		if err != nil || below == c {
			return KnownCommand(c, args[i:])
		}
		c = below
	}
	return nil
}

// KnownCommand refuses words that are no command below c, and says which one does what was meant.
func KnownCommand(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	at := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
	asked := strings.TrimPrefix(at+" "+words[0], " ")
	if len(words) > 1 {
		if instead, known := Elsewhere[asked+" "+words[1]]; known {
			return program.Usagef("there is no command %s %s; try: markmill %s", asked, words[1],
				filled(instead, words[2:]))
		}
	}
	instead, found := Elsewhere[asked]
	if !found && at != "" { // what is no command of a group may be one, or a word, without it
		if instead, found = Elsewhere[words[0]]; slices.Contains(visibleCommands(), words[0]) {
			instead, found = words[0]+" {}", true
		}
	}
	if found {
		return program.Usagef("there is no command %s; try: markmill %s", asked, filled(instead, words[1:]))
	}
	known := namesBelow(c)
	for _, place := range []struct {
		path  string
		names []string
	}{{at, known}, {"", visibleCommands()}} {
		if near := notebooks.Suggest(words[0], place.names); near != "" {
			return program.Usagef("there is no command %s; did you mean: markmill %s", asked,
				filled(strings.TrimPrefix(place.path+" "+near+" {}", " "), words[1:]))
		}
	}
	return program.Usagef("there is no command %s; there are: %s", asked, strings.Join(known, ", "))
}

// namesBelow are the names of the commands below c that --help lists.
func namesBelow(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}

// filled puts the arguments that were given into the words of a command.
func filled(command string, args []string) string {
	var out []string
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = plain.Shell(arg)
	}
	used := 0
	take := func(n int) string {
		used = max(used, n)
		if n > len(quoted) {
			return ""
		}
		return quoted[n-1]
	}
	for _, word := range strings.Fields(command) {
		switch name, value, joined := strings.Cut(word, "="); {
		case word == "{}":
			out = append(out, quoted[min(used, len(quoted)):]...)
		case word == "{1}":
			if arg := take(1); arg != "" {
				out = append(out, arg)
			}
		case joined && value == "{2}":
			if arg := take(2); arg != "" {
				name += "=" + arg
			}
			out = append(out, name)
		default:
			out = append(out, word)
		}
	}
	return strings.Join(out, " ")
}
