package engine

import (
	"path"
	"slices"
	"strings"

	"markmill/runs/outfile"
)

// matchPath reports whether a slash-separated path matches a pattern of allow: or forbid:. A star stands for any
// characters but the slash, ** for any number of whole path elements, and a pattern that ends in a slash for everything
// below it. The pattern is for the whole path.
//
// bmatcuk/doublestar 4.10.4 is no replacement, and would save 15 lines: in policies that are in force {a,b} and [!a]
// are other characters than there, which escapes could mend, but its a*** does not match "a".
func matchPath(pattern, name string) bool {
	if pattern == Sensitive {
		return sensitive(name)
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return matchParts(strings.Split(strings.TrimPrefix(pattern, "./"), "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for len(pattern) > 0 && pattern[0] == "**" {
				pattern = pattern[1:]
			}
			if len(pattern) == 0 {
				return true
			}
			for i := range name {
				if matchParts(pattern, name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}

// Sensitive stands in forbid: and protect: for the files that decide what is trusted: keys and passwords, workflows and
// hooks, and where packages come from.
const Sensitive = "@sensitive"

// secretFiles are names of files, and of folders, that hold keys and passwords, or say where packages come from.
var secretFiles = []string{
	".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".gcloud",
	"secrets", ".secrets", "credentials", "credentials.*", ".netrc", ".git-credentials", ".pgpass", ".htpasswd",
	"*.tfstate", "*.tfstate.*", "*.tfvars", "service-account*.json",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pip.conf", ".pypirc", "nuget.config", ".gemrc",
}

// sensitive reports whether a path is one of those for which Sensitive stands. A template of a secret is none.
func sensitive(name string) bool {
	if outfile.IsWorkflow(name) || name == ".cargo/config.toml" || name == ".mvn/settings.xml" {
		return true
	}
	for _, part := range strings.Split(strings.ToLower(name), "/") {
		switch path.Ext(part) {
		case ".example", ".sample", ".template", ".dist", ".pub":
			continue
		}
		for _, p := range secretFiles {
			if ok, _ := path.Match(p, part); ok {
				return true
			}
		}
	}
	return false
}

// firstMatch is the first pattern that matches a path; "" is none.
func firstMatch(patterns []string, name string) string {
	for _, p := range patterns {
		if matchPath(p, name) {
			return p
		}
	}
	return ""
}

// MatchesAny reports whether a path matches one of several patterns, as in forbid: and protect:.
func MatchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchPath(p, name) })
}

// coveredBy reports whether allow: covers a path. A pattern that ends in /** covers everything below a folder, but not
// the folder's own name: a file or a link in its place was not allowed. forbid: covers both.
func coveredBy(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if folder := strings.TrimSuffix(p, "**"); strings.HasSuffix(folder, "/") {
			p = folder + "*/**"
		}
		return matchPath(p, name)
	})
}

// badPattern returns the first pattern that is not valid, or "".
func badPattern(patterns []string) string {
	for _, p := range patterns {
		for _, part := range strings.Split(p, "/") {
			if _, err := path.Match(part, ""); err != nil {
				return p
			}
		}
		if p == "" || strings.HasPrefix(p, "/") {
			return p
		}
	}
	return ""
}
