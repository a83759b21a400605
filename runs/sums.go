package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Finding is one thing that does not hold: where it is (a file, an event, a step) and what is wrong.
type Finding struct {
	Where string `json:"where"`
	Words string `json:"words"`
}

func (f Finding) String() string { return f.Where + ": " + f.Words }

// WriteSums writes SHA256SUMS over every file of the run directory but itself, sorted by path, as
// "sha256sum -c" reads it. It is the last thing that a run writes.
func WriteSums(dir string) error { return writeSums(dir, nil) }

// writeSums takes the digests that are known already, by path, without reading those files again.
func writeSums(dir string, known map[string]Digest) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer root.Close()
	sums := map[string]Digest{}
	err = recordFiles(dir, func(path string) error {
		if path == SumsFile || path == SumsSignatureFile {
			return nil
		}
		digest, found := known[path]
		if !found {
			var err error
			if digest, _, err = digestFile(root, path); err != nil {
				return err
			}
		}
		sums[path] = digest
		return nil
	}, nil)
	if err != nil {
		return cannotWrite(filepath.Join(dir, SumsFile), err)
	}
	var text strings.Builder
	for _, path := range sortedKeys(sums) {
		text.WriteString(sumLine(path, sums[path]))
	}
	return WriteFile(filepath.Join(dir, SumsFile), []byte(text.String()))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var (
	escapeSum   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	unescapeSum = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
)

// sumLine spells a line as sha256sum does: a path with a backslash or a line break is escaped, and
// a backslash in front of the line says so.
func sumLine(path string, digest Digest) string {
	escaped := escapeSum.Replace(path)
	line := digest.Hex() + "  " + escaped + "\n"
	if escaped != path {
		return `\` + line
	}
	return line
}

// parseSums reads SHA256SUMS.
func parseSums(text string) (map[string]Digest, error) {
	sums := map[string]Digest{}
	if !strings.HasSuffix(text, "\n") {
		return nil, errors.New("its last line is cut")
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		rest, escaped := strings.CutPrefix(line, `\`)
		hex, path, found := strings.Cut(rest, "  ")
		digest := Digest(digestPrefix + hex)
		if !found || !digest.Valid() || path == "" {
			return nil, fmt.Errorf("line %d is not a digest, two spaces and a path", i+1)
		}
		if escaped {
			path = unescapeSum.Replace(path)
		}
		if _, twice := sums[path]; twice {
			return nil, fmt.Errorf("line %d names %q again", i+1, path)
		}
		sums[path] = digest
	}
	return sums, nil
}

// CheckSums reads every file of the run directory and compares it with SHA256SUMS: what changed,
// is missing, or was added. The findings are in order of path.
func CheckSums(dir string) ([]Finding, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var sums map[string]Digest
	text, err := root.ReadFile(SumsFile)
	if err == nil {
		sums, err = parseSums(string(text))
	}
	if err != nil {
		return []Finding{{SumsFile, "cannot be read: " + cause(err).Error()}}, nil
	}
	var findings []Finding
	err = recordFiles(dir, func(path string) error {
		if _, listed := sums[path]; !listed && path != SumsFile && path != SumsSignatureFile {
			findings = append(findings, Finding{path, "is not in " + SumsFile})
		}
		return nil
	}, func(path string) {
		findings = append(findings, Finding{path, "is not a regular file"})
	})
	if err != nil {
		return nil, err
	}
	for path, digest := range sums {
		switch got, _, err := digestFile(root, path); {
		case errors.Is(err, fs.ErrNotExist):
			findings = append(findings, Finding{path, "is missing and stands in " + SumsFile})
		case err != nil:
			findings = append(findings, Finding{path, "cannot be read: " + cause(err).Error()})
		case got != digest:
			findings = append(findings, Finding{path, fmt.Sprintf("has changed: %s says %s and its bytes give %s", SumsFile, digest, got)})
		}
	}
	sortFindings(findings)
	return findings, nil
}

func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(a.Where, b.Where) })
}
