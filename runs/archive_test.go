package runs

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// archived writes an archive to a file and opens it.
func archived(t testing.TB, text string) *Record {
	t.Helper()
	record, err := openArchived(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func openArchived(t testing.TB, text string) (*Record, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.tar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return OpenRecord(file)
}

func tarOf(t testing.TB, record *Record) string {
	t.Helper()
	var b strings.Builder
	if err := record.WriteTar(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func verified(t testing.TB, record *Record) Verification {
	t.Helper()
	v, err := record.Verify(rendering(renderForTest), Signers{})
	if err != nil {
		t.Fatal(err)
	}
	got := *v
	got.Dir = ""
	return got
}

// Whatever is done to a record, an archive of it gives the findings that its folder gives.
func TestArchiveVerifiesAsItsFolder(t *testing.T) {
	edits := map[string]func(r *record){
		"nothing": func(*record) {},
		"a stream that was edited": func(r *record) {
			r.write("steps/00-change/stdout", "ho\n")
		},
		"a stream that is gone":  func(r *record) { remove(t, r.dir, "steps/00-change/stdout") },
		"a planted file":         func(r *record) { r.write("steps-more", "x"); r.write("steps/00-change/more", "y") },
		"another source":         func(r *record) { r.write("notebook.md", "# Other\n") },
		"no report":              func(r *record) { remove(t, r.dir, ReportFile) },
		"an output that differs": func(r *record) { r.write(OutputFile, "# Fix\n") },
		"a torn journal":         func(r *record) { appendTo(t, filepath.Join(r.dir, JournalFile), `{"data"`) },
		"a journal with a line more": func(r *record) {
			appendTo(t, filepath.Join(r.dir, JournalFile), "{}\n")
		},
		"no SHA256SUMS": func(r *record) { remove(t, r.dir, SumsFile) },
		"files from before the run": func(r *record) {
			if err := os.Chtimes(filepath.Join(r.dir, PatchFile), time.Time{}, aTime.Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		},
		"half-written files": func(r *record) { r.write("steps/"+TempPrefix+"1", "x") },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			r := aPass(t, newStore(t), aTime, 1)
			edit(r)
			want := verified(t, At(r.dir))
			if ok := name == "nothing" || name == "half-written files"; ok != want.OK() {
				t.Fatalf("the folder gives %v", want.Findings)
			}
			if got := verified(t, archived(t, tarOf(t, At(r.dir)))); !reflect.DeepEqual(got, want) {
				t.Errorf("the archive gives\n%v\nand its folder\n%v", got, want)
			}
		})
	}
}

func remove(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// A folder, its archive, the folder that tar unpacks it to, and the archive that tar makes of that.
func TestArchiveRoundTrip(t *testing.T) {
	program, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar on this machine")
	}
	r := aPass(t, newStore(t), aTime, 1)
	text := tarOf(t, At(r.dir))
	if again := tarOf(t, archived(t, text)); again != text {
		t.Error("an archive of the archive has other bytes")
	}
	to := t.TempDir()
	unpack := exec.Command(program, "-x", "-C", to)
	unpack.Stdin = strings.NewReader(text)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	unpacked := At(filepath.Join(to, string(r.id)))
	if v := verified(t, unpacked); !v.OK() {
		t.Errorf("unpacked: %v", v.Findings)
	}
	for _, args := range [][]string{{"-C", to, "."}, {"-C", to, string(r.id)}, {"-C", unpacked.Path(), "."}} {
		packed, err := exec.Command(program, append([]string{"-c"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if v := verified(t, archived(t, string(packed))); !v.OK() {
			t.Errorf("tar %q: %v", args, v.Findings)
		}
	}
}

func TestArchiveReads(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	folder, archive := At(r.dir), archived(t, tarOf(t, At(r.dir)))
	want, err := folder.List()
	if err != nil {
		t.Fatal(err)
	}
	got, err := archive.List()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it lists %q (%v), and its folder %q", got, err, want)
	}
	for _, name := range want {
		a, errA := folder.ReadFile(name)
		b, errB := archive.ReadFile(name)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %q (%v), and in the folder %q (%v)", name, b, errB, a, errA)
		}
	}
	if archive.Has("none") || archive.Has("../"+JournalFile) {
		t.Error("it has files that it does not have")
	}
	_, unnamed := archive.Open("none")
	for what, err := range map[string]error{
		"Open": unnamed, "Write": archive.Write("x", nil), "WriteNew": archive.WriteNew("x",
			nil), "Remove": archive.Remove(JournalFile),
		"Seal": archive.Seal(nil), "Write outside": folder.Write("../x", nil),
	} {
		if err == nil {
			t.Errorf("%s returns no error", what)
		}
	}
	if _, err := archive.Reconcile(time.Now, nil); err == nil {
		t.Error("Reconcile returns no error")
	}
	if err := folder.Remove("none"); err != nil {
		t.Errorf("what is not there cannot be removed: %v", err)
	}
}

func TestArchiveRefuses(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	good := tarOf(t, At(r.dir))
	added := func(headers ...tar.Header) string {
		var b strings.Builder
		b.WriteString(strings.TrimRight(good, "\x00"))
		for b.Len()%512 != 0 {
			b.WriteByte(0)
		}
		out := tar.NewWriter(&b)
		for _, h := range headers {
			if err := out.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	in := func(name string) string { return string(r.id) + "/" + name }
	for name, c := range map[string]struct{ text, want string }{
		"not a tar":       {"# notes\n", "neither a run directory nor a tar archive"},
		"empty":           {"", "neither a run directory nor a tar archive"},
		"cut":             {good[:len(good)/2], "neither a run directory nor a tar archive"},
		"a file twice":    {added(tar.Header{Name: in(JournalFile)}), "is in it twice"},
		"another folder":  {added(tar.Header{Name: "other/x"}), "is not in the folder of the record"},
		"a name outside":  {added(tar.Header{Name: "../x"}), "leads out of it"},
		"an absolute one": {added(tar.Header{Name: "/x"}), "leads out of it"},
		"a hard link": {added(tar.Header{Name: in("x"), Typeflag: tar.TypeLink, Linkname: in(JournalFile)}),
			"hard link"},
		"file and folder": {added(tar.Header{Name: in(JournalFile) + "/x"}), "both a file and a folder"},
	} {
		if _, err := openArchived(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
	}
	linked := archived(t, added(tar.Header{Name: in("x"), Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}))
	if v := verified(t, linked); v.OK() || !strings.Contains(v.Findings[0].String(), "x: is no file") {
		t.Errorf("a symbolic link gives %v", v.Findings)
	}
	if _, err := linked.ReadFile("x"); err == nil {
		t.Error("a symbolic link can be read")
	}
	live, _, _ := liveRun(t)
	if err := live.WriteTar(new(strings.Builder)); err != ErrLive {
		t.Errorf("of a run that is alive: %v", err)
	}
}
