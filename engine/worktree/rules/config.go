package rules

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	gitconfig "github.com/go-git/go-git/v6/plumbing/format/config"
)

// setting is one line of a Git configuration.
type setting struct {
	Section, Sub, Key, Value string // section and key in lower case
	Local                    bool   // of the repository itself
}

// Settings are the lines of all configuration files that apply, the weakest first.
type Settings []setting

// Get gives the strongest value; ok is false when none is set.
func (c Settings) Get(section, sub, key string) (value string, ok bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if s := &c[i]; s.Section == section && s.Sub == sub && s.Key == key {
			return s.Value, true
		}
	}
	return "", false
}

// Flag reads a boolean as Git does.
func (c Settings) Flag(section, key string, def bool) bool {
	v, ok := c.Get(section, "", key)
	if !ok {
		return def
	}
	switch strings.ToLower(v) {
	case "false", "no", "off", "0":
		return false
	}
	return true // "true" and its like; a key without a value is true
}

// Path reads a file name, with "~/" put in full; "" if it is not set.
func (c Settings) Path(section, key string) string {
	v, _ := c.Get(section, "", key)
	return expandHome(v)
}

func expandHome(v string) string {
	if rest, ok := strings.CutPrefix(v, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return v
}

// xdg is a file of the user's Git folder.
func xdg(name string) string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", name)
	}
	return expandHome("~/.config/git/" + name)
}

// ReadSettings reads the system's, the user's and the repository's files, with what they include.
func ReadSettings(common, gitDir string) (Settings, error) {
	var out Settings
	if os.Getenv("GIT_CONFIG_NOSYSTEM") == "" {
		system := os.Getenv("GIT_CONFIG_SYSTEM")
		if system == "" {
			system = "/etc/gitconfig"
		}
		if err := out.read(system, gitDir, false, 0); err != nil {
			return nil, err
		}
	}
	user := []string{xdg("config"), expandHome("~/.gitconfig")}
	if g, ok := os.LookupEnv("GIT_CONFIG_GLOBAL"); ok {
		user = []string{g}
	}
	for _, f := range user {
		if err := out.read(f, gitDir, false, 0); err != nil {
			return nil, err
		}
	}
	if common == "" {
		return out, nil
	}
	if err := out.read(filepath.Join(common, "config"), gitDir, true, 0); err != nil {
		return nil, err
	}
	if out.Flag("extensions", "worktreeconfig", false) {
		if err := out.read(filepath.Join(gitDir, "config.worktree"), gitDir, true, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read appends a file's lines. Includes are followed as Git follows them, ten deep.
func (c *Settings) read(file, gitDir string, local bool, depth int) error {
	f, err := os.Open(file)
	if err != nil {
		return nil // Git too goes on without a file that is missing or closed to it
	}
	defer f.Close()
	raw := gitconfig.New()
	if err := gitconfig.NewDecoder(f).Decode(raw); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	add := func(section, sub string, options gitconfig.Options) error {
		for _, o := range options {
			s := setting{strings.ToLower(section), sub, strings.ToLower(o.Key), o.Value, local}
			*c = append(*c, s)
			in := s.Section == "include" || s.Section == "includeif" && includes(s.Sub, gitDir)
			if !in || s.Key != "path" || depth >= 10 {
				continue
			}
			p := expandHome(s.Value)
			if !filepath.IsAbs(p) {
				p = filepath.Join(filepath.Dir(file), p)
			}
			if err := c.read(p, gitDir, local, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range raw.Sections {
		if err := add(s.Name, "", s.Options); err != nil {
			return err
		}
		for _, sub := range s.Subsections {
			if err := add(s.Name, sub.Name, sub.Options); err != nil {
				return err
			}
		}
	}
	return nil
}

// ParseSettings reads the lines of a file such as .gitmodules, without includes. What cannot be read is left out.
func ParseSettings(text []byte) (c Settings) {
	raw := gitconfig.New()
	_ = gitconfig.NewDecoder(bytes.NewReader(text)).Decode(raw) // it has what stands before the error
	for _, s := range raw.Sections {
		for _, sub := range s.Subsections {
			for _, o := range sub.Options {
				c = append(c, setting{strings.ToLower(s.Name), sub.Name, strings.ToLower(o.Key), o.Value, false})
			}
		}
	}
	return c
}

// includes reports whether an includeIf condition holds. It knows the conditions on the Git directory.
func includes(cond, gitDir string) bool {
	kind, pat, _ := strings.Cut(cond, ":")
	if kind != "gitdir" && kind != "gitdir/i" {
		return false
	}
	pat = filepath.ToSlash(expandHome(pat))
	if !strings.HasPrefix(pat, "/") {
		pat = "**/" + pat
	}
	if strings.HasSuffix(pat, "/") {
		pat += "**"
	}
	return wildmatch(pat, filepath.ToSlash(gitDir), kind == "gitdir/i")
}

// QuoteValue writes a value so that Git reads it back.
func QuoteValue(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(v) + `"`
}
