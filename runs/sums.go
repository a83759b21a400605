package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Finding is one thing that is wrong with a record, and where: in a file, an event, a step.
type Finding struct {
	Where   string `json:"where"`
	Message string `json:"words"`
}

func (f Finding) String() string { return f.Where + ": " + f.Message }

// Seal writes SHA256SUMS over every file of the record but itself, sorted by path, as "sha256sum -c" reads it. It is
// the last thing that a run writes. Files whose digest is known, by path, are not read again.
func (r *Record) Seal(known map[string]Digest) error {
	if err := r.writable(SumsFile); err != nil {
		return err
	}
	sums, err := r.digests(known, SumsFile)
	if err != nil {
		return cannotWrite(r.File(SumsFile), err)
	}
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(sums)) {
		text.WriteString(sumLine(path, sums[path]))
	}
	if err := r.Write(SumsFile, []byte(text.String())); err != nil {
		return err
	}
	return r.markSealed(DigestOf([]byte(text.String())))
}

// digests returns the digests of the files of the record but some, and but those that come after the run. It reads
// those that are not known.
func (r *Record) digests(known map[string]Digest, but ...string) (map[string]Digest, error) {
	held, done, err := r.held()
	if err != nil {
		return nil, err
	}
	defer done()
	all := map[string]Digest{}
	return all, held.walk(func(name string) (err error) {
		if slices.Contains(but, name) || isBeside(name) {
			return nil
		}
		digest, found := known[name]
		if !found {
			digest, _, err = held.Digest(name)
		}
		all[name] = digest
		return err
	}, nil)
}

// Sums is the digest of SHA256SUMS, the one anchor of a whole record: kept elsewhere, it shows every later change.
func (r *Record) Sums() (Digest, error) {
	digest, _, err := r.Digest(SumsFile)
	return digest, err
}

var (
	escapeSum   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	unescapeSum = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
)

// sumLine writes a line as sha256sum does: a path with a backslash or a line break is escaped, and a backslash before
// the line says so.
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
		return nil, errors.New("its last line is incomplete")
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

// CheckSums reads every file of the record and compares it with SHA256SUMS: what changed, is missing, or was added. The
// findings are in order of path.
func (r *Record) CheckSums() ([]Finding, error) {
	r, done, err := r.held()
	if err != nil {
		return nil, err
	}
	defer done()
	var sums map[string]Digest
	text, err := r.ReadFile(SumsFile)
	if err == nil {
		sums, err = parseSums(string(text))
	}
	if err != nil {
		return []Finding{{SumsFile, "cannot be read: " + cause(err).Error()}}, nil
	}
	var findings []Finding
	err = r.walk(func(path string) error {
		if _, listed := sums[path]; !listed && path != SumsFile && !isBeside(path) {
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
		switch got, _, err := r.Digest(path); {
		case errors.Is(err, fs.ErrNotExist):
			findings = append(findings, Finding{path, "is missing, and " + SumsFile + " lists it"})
		case err != nil:
			findings = append(findings, Finding{path, "cannot be read: " + cause(err).Error()})
		case got != digest:
			words := fmt.Sprintf("has changed: %s says %s and its bytes give %s", SumsFile, digest, got)
			findings = append(findings, Finding{path, words})
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(a.Where, b.Where) })
	return findings, nil
}
