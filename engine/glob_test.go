package engine

import "testing"

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"reports/**", "reports/a/b.json", true},
		{"reports/**", "reports", true},
		{"reports/**", "reports2/a", false},
		{"reports/", "reports/a/b", true},
		{"*.go", "a.go", true},
		{"*.go", "sub/a.go", false},
		{"**/*.go", "a.go", true},
		{"**/*.go", "x/y/a.go", true},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**/z", "a/b/c/y", false},
		{"./a.txt", "a.txt", true},
		{"[ab].txt", "b.txt", true},
		{"**", "anything/at/all", true},
		{"a", "a/b", false},
		{".git/**", ".git/config", true},
	} {
		if got := matchPath(c.pattern, c.path); got != c.want {
			t.Errorf("matchPath(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}

// TestSensitive: what no change may touch where forbid: has @sensitive.
func TestSensitive(t *testing.T) {
	for _, name := range []string{".env", "app/.env.production", "deploy/server.pem", "id_ed25519", ".ssh/config",
		"secrets/db.yaml", "k8s/secrets/db.yaml", "Secrets/a", ".npmrc", "pip.conf", ".cargo/config.toml",
		".github/workflows/x.yml",
		".husky/pre-commit", ".pre-commit-config.yaml", "infra/prod.tfstate", "credentials.json", "CODEOWNERS"} {
		if !matchPath(Sensitive, name) {
			t.Errorf("%s is not sensitive", name)
		}
	}
	for _, name := range []string{".env.example", "id_rsa.pub", "src/secrets.py", "environment.py", "docs/keys.md",
		"Cargo.toml", "package.json", "src/key.go", ".github/ISSUE_TEMPLATE.md"} {
		if matchPath(Sensitive, name) {
			t.Errorf("%s is sensitive", name)
		}
	}
}

func TestBadPattern(t *testing.T) {
	for _, p := range []string{"[a", "/etc/*", ""} {
		if badPattern([]string{"ok/**", p}) != p {
			t.Errorf("%q passes", p)
		}
	}
	if p := badPattern([]string{"a/**", "*.go"}); p != "" {
		t.Errorf("%q is refused", p)
	}
}
