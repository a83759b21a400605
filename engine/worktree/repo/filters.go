package repo

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// MissingFilter is a filter of .gitattributes that files need and whose program is not installed.
type MissingFilter struct{ Name, Program, Path string } // Path is one of the files

// MissingFilters lists the required filters of tracked files that cannot run.
func (s *Repo) MissingFilters(ctx context.Context) ([]MissingFilter, error) {
	var out []MissingFilter
	for _, c := range s.Config {
		if c.Section != "filter" || !slices.Contains([]string{"clean", "smudge", "process"}, c.Key) ||
			slices.ContainsFunc(out, func(f MissingFilter) bool { return f.Name == c.Sub }) {
			continue
		}
		required, _ := s.Config.Get("filter", c.Sub, "required")
		program, _, _ := strings.Cut(c.Value, " ")
		if slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(required)) ||
			strings.ContainsAny(program, `"'$;&|<>()=\`+"`") || gitHas(program) || !HaveGit() {
			continue
		}
		paths, err := RunGit(ctx, s.root, nil, nil, "ls-files", "-z", ":(attr:filter="+c.Sub+")")
		if err != nil {
			return nil, err
		}
		if first, _, some := bytes.Cut(paths, []byte{0}); some {
			out = append(out, MissingFilter{c.Sub, program, string(first)})
		}
	}
	return out, nil
}

// gitHas reports whether Git finds a program: it looks among its own, too.
func gitHas(program string) bool {
	if _, err := exec.LookPath(program); program == "" || err == nil {
		return true
	}
	own, err := RunGit(context.Background(), "", nil, nil, "--exec-path")
	if err == nil {
		_, err = exec.LookPath(filepath.Join(strings.TrimSpace(string(own)), program))
	}
	return err == nil
}
