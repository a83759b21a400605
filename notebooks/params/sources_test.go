package params

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the expected results of TestMultiLine and TestSources anew")

// readings describes the parameters of a file of Python, read as a parameters cell, one a line.
func readings(name string, code []byte) []byte {
	var out bytes.Buffer
	for _, p := range ParseCode("python", code, 1) {
		fmt.Fprintf(&out, "%s:%d:%d %s\n", name, p.Line, p.Col, describe(p))
	}
	return out.Bytes()
}

// TestMultiLine reads values that span lines: lists, maps, calls, strings and continued lines, with comments, blank
// lines and brackets inside.
func TestMultiLine(t *testing.T) {
	const code, golden = "testdata/multiline.py", "testdata/multiline.txt"
	src, err := os.ReadFile(code)
	if err != nil {
		t.Fatal(err)
	}
	got := readings(path.Base(code), src)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(want, []byte("\n"))
	for i, line := range bytes.Split(got, []byte("\n")) {
		if i >= len(lines) || !bytes.Equal(line, lines[i]) {
			t.Fatalf("line %d of %s (-update writes it anew):\n got %s\nwant %s", i+1, golden, line,
				bytes.Join(lines[min(i, len(lines)):min(i+1, len(lines))], nil))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has more parameters than were read", golden)
	}
}

// TestSources reads every Python file of the packages that testdata/sources.txt names, from the wheels in the folder
// MARKMILL_SOURCES, and compares the digest of all readings. The stage interop of CI downloads the wheels.
func TestSources(t *testing.T) {
	folder := os.Getenv("MARKMILL_SOURCES")
	if folder == "" {
		t.Skip("MARKMILL_SOURCES names no folder with the wheels of testdata/sources.txt")
	}
	const golden = "testdata/sources.txt"
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	files := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(words) < 3 {
			out.WriteString(line)
			continue
		}
		count, got, all := readWheel(t, folder, words[0], words[1], words[2])
		got = strings.Join(words[:3], " ") + " " + got
		files += count
		fmt.Fprintln(&out, got)
		if got+"\n" == line || *update {
			continue
		}
		kept := filepath.Join(folder, words[0]+".txt")
		if err := os.WriteFile(kept, all, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s\n got %s\nwant %sThe readings are in %s. Compare them with those of an earlier commit; -update "+
			"accepts them.", golden, got, line, kept)
	}
	if files < 6000 {
		t.Errorf("%s has only %d files", golden, files)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// readWheel returns how many Python files a wheel has, the columns of testdata/sources.txt that say what was read, and
// the readings.
func readWheel(t *testing.T, folder, name, version, digest string) (files int, columns string, all []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, name+"-"+version+"-*.whl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s must hold one wheel of %s %s, found %q: pip download puts it there", folder, name, version, found)
	}
	wheel, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(wheel)); got != digest {
		t.Fatalf("%s has the digest %s, want %s", found[0], got, digest)
	}
	z, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if path.Ext(f.Name) != ".py" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		code, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files++
		all = append(all, readings(f.Name, code)...)
	}
	return files, fmt.Sprintf("%d %d %x", files, bytes.Count(all, []byte("\n")), sha256.Sum256(all)), all
}
