package repo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// HaveGit reports whether the Git program is installed. It is used only for what this package cannot do itself, and to
// read the state of the user's own checkout.
func HaveGit() bool {
	_, err := exec.LookPath("git")
	return err == nil
}

// gitTaken are the variables of Git that say how it reaches a remote, and those of its settings.
var gitTaken = []string{"GIT_CONFIG_", "GIT_SSH", "GIT_SSL", "GIT_ASKPASS", "GIT_HTTP", "GIT_PROXY", "GIT_PROTOCOL",
	"GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH"}

// RunGit runs the Git program on a repository. It takes no optional lock, starts no monitor, runs no hook and does not
// prompt. With an error it returns what Git printed so far: some commands end with an exit code that is an answer.
func RunGit(ctx context.Context, dir string, env []string, stdin []byte, args ...string) ([]byte, error) {
	args = append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c",
		"core.quotePath=true"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		// GIT_DIR and its like would send it to another repository.
		if !strings.HasPrefix(kv, "GIT_") || slices.ContainsFunc(gitTaken, func(prefix string) bool {
			return strings.HasPrefix(kv, prefix)
		}) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("git %s: %w: %s", strings.Join(args[6:], " "), err,
			strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

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
