package runs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one", "", "three"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, before.Mode()&^0o044); err != nil {
		t.Fatal(err)
	}
	if before, err = os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, nil); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(path); err != nil || after.Mode() != before.Mode() {
		t.Errorf("the mode went from %s to %s, %v", before.Mode(), after.Mode(), err)
	}
}

func TestWriteFileLeavesNothingWhenItFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := WriteFile(path, []byte("x"))
	var known *notebooks.Error
	if !errors.As(err, &known) || known.Kind != notebooks.KindArtifact || known.File != path {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := WriteFile(filepath.Join(dir, "none", "f"), nil); !errors.As(err, &known) {
		t.Errorf("got %v", err)
	}
}

func TestSums(t *testing.T) {
	dir := t.TempDir()
	names := []string{"plain", "with space", "steps/a", "steps.txt", `back\slash`, "line\nbreak", "return\r", "*star",
		"\xff"}
	written := 0
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if os.WriteFile(path, []byte(name), 0o644) == nil { // not every system has all these names
			written++
		}
	}
	if err := os.WriteFile(filepath.Join(dir, LockFile), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time SHA256SUMS is there
		if err := At(dir).Seal(nil); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, SumsFile))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := parseSums(string(text))
	if err != nil || len(sums) != written {
		t.Fatalf("%d of %d files: %v, %v", len(sums), written, sums, err)
	}
	if findings, err := At(dir).CheckSums(); err != nil || len(findings) > 0 {
		t.Errorf("got %v, %v", findings, err)
	}
	if !strings.HasPrefix(string(text), DigestOf([]byte("*star")).Hex()+"  *star\n") {
		t.Errorf("not sorted: %s", text)
	}
	program, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is not here to be asked")
	}
	check := exec.Command(program, "--check", "--strict", SumsFile)
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s\n%s", err, out, text)
	}
}

func TestCheckSumsOfABadList(t *testing.T) {
	good := DigestOf(nil).Hex() + "  f\n"
	for name, text := range map[string]string{
		"nothing": "", "no digest": "xyz  f\n", "one space": DigestOf(nil).Hex() + " f\n", "twice": good + good,
		"upper case": strings.ToUpper(DigestOf(nil).Hex()) + "  f\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, SumsFile), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			findings, err := At(dir).CheckSums()
			if err != nil || len(findings) != 1 || findings[0].Where != SumsFile {
				t.Errorf("got %v, %v", findings, err)
			}
		})
	}
}

func TestHasher(t *testing.T) {
	h := NewHasher()
	for _, part := range []string{"a", "", "bc"} {
		if n, err := h.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	// The test vector "abc" of FIPS 180-4.
	const want = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if h.Digest() != want || h.Bytes() != 3 || DigestOf([]byte("abc")) != want || !h.Digest().Valid() {
		t.Errorf("got %s of %d bytes", h.Digest(), h.Bytes())
	}
	for _, bad := range []string{"", "sha256:", want[:70], want + "0", "md5:" + want[7:], strings.ToUpper(want),
		want[:70] + "g"} {
		if Digest(bad).Valid() {
			t.Errorf("%q is taken for a digest", bad)
		}
	}
}
