package params

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
)

// TestUnsetNames: an unset variable whose name is close to a parameter's is reported with its position. Others are not.
func TestUnsetNames(t *testing.T) {
	for code, want := range map[string]string{
		"echo $paramter":                           "2:6 paramter parameter",
		"echo a\necho \"x ${paramter}y\"":          "3:9 paramter parameter",
		"echo $PARAMETER $Parameter":               "2:6 PARAMETER parameter, 2:17 Parameter parameter",
		"echo é \"${paramter%.txt}\" ${#paramter}": "2:9 paramter parameter",
		"echo ${paramter[0]} ":                     "2:6 paramter parameter",
		"echo ${paramter:0:3}":                     "2:6 paramter parameter",
		"cat <<E\n$paramter\nE":                    "3:1 paramter parameter",
		"x=$(( $paramter + 1 ))":                   "2:7 paramter parameter",
		"x='it'\"'$paramter'\"":                    "2:9 paramter parameter",
		"echo $parameter ${parameter}":             "",
		"echo ${paramter-x}${paramter:-x}${paramter+x}${paramter:?x}${paramter:=x}": "",
		"awk '{ print $paramter }' x":                              "",
		"echo \\$paramter $'a\\'$paramter'":                        "",
		"true # $paramter":                                         "",
		"cat <<'E'\n$paramter\nE\ntrue":                            "",
		"cat <<-\"E\" | tr a b\n$paramter\n\tE\ntrue":              "",
		"paramter=1; echo $paramter":                               "",
		"for paramter in a; do echo $paramter; done":               "",
		"read -r paramter; echo $paramter":                         "",
		"printf -v paramter %s x; echo $paramter":                  "",
		"echo $HOME $HOMEX $other $1 $@ $? $$ ${1} ${!x} $(x) `y`": "",
		"cat <<<$other; echo $((1<<2)) $paramter":                  "2:31 paramter parameter",
		"echo \"":   "",
		"echo '$":   "",
		"echo ${":   "",
		"cat <<'E'": "",
		"echo \\":   "",
		"echo $":    "",
	} {
		nb := &notebooks.Notebook{Params: []notebooks.Param{{Name: "parameter"}, {Name: "home"}},
			Steps: []*notebooks.Step{{ID: "a", Lang: "bash", Code: []byte(code + "\n"), CodeLine: 2}}}
		var got []string
		for _, u := range UnsetNames(nb, func(name string) bool { return name == "HOME" }) {
			got = append(got, fmt.Sprintf("%d:%d %s %s", u.Line, u.Col, u.Name, u.Near))
		}
		if text := strings.Join(got, ", "); text != want &&
			!(strings.Contains(code, "HOMEX") && text == "2:12 HOMEX home") {
			t.Errorf("%q: %q, expected %q", code, text, want)
		}
	}
}

func FuzzShellReads(f *testing.F) {
	f.Add("echo \"${x:-y}\" $'a' <<'E'\n$z\nE\n")
	f.Fuzz(func(t *testing.T, code string) {
		for _, r := range shellReads(code) {
			if r.line < 0 || r.line > strings.Count(code, "\n") || r.col < 1 {
				t.Errorf("%q: %+v", code, r)
			}
		}
	})
}
