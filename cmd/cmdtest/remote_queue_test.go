package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// works has a worker do the job j, whose larger files are kept in an object store.
func (b *remoteBed) works(t *testing.T, place string) {
	t.Helper()
	buildQueue(t)
	b.dir = filepath.Join(b.dir, "repo")
	b.env = append(b.env, "MARKMILL_FILES="+place, "MARKMILL_DIR=", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := exec.Command("git", "init", "-q", b.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The output begins as gzip does: what an address gives is unpacked elsewhere, and must not be here.
	notebook := "```bash {#one}\nhead -c 1000000 /dev/urandom | gzip > packed\n" +
		"cat packed packed packed packed packed packed packed packed packed\n```\n"
	if err := os.WriteFile(filepath.Join(b.dir, "n.md"), []byte(notebook), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", b.dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q",
		"--allow-empty", "-m", "base").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.wants(t, b.do("queue", "submit", "n.md", "--key", "j"), "exit 0")
	b.wants(t, b.do("queue", "worker", "--drain"), "job j: completed", "exit 0")
}

// fetches fetches the record of the job j.
func (b *remoteBed) fetches(t *testing.T) {
	t.Helper()
	b.wants(t, b.do("queue", "fetch", "j"), "job j completed", "exit 0")
	b.wants(t, b.do("verify", "last"), "everything holds", "exit 0")
}

// TestRemoteQueueFiles keeps the larger files of jobs at a real server of S3.
func TestRemoteQueueFiles(t *testing.T) {
	t.Parallel()
	b, _, data := newS3Bed(t)
	files := filepath.Join(data, "bucket", "files")
	b.works(t, "s3://bucket/files/")
	b.wants(t, b.do("queue", "submit", "n.md", "--key", "k", "--files", "s3://nobucket/x"), `there is no bucket "nobucket"`)
	kept, err := filepath.Glob(filepath.Join(files, "*"))
	if err != nil || len(kept) < 3 { // the output has two parts, and the patch has one
		t.Fatalf("the bucket has %v, %v", kept, err)
	}
	var whole [][]byte
	for _, name := range kept {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, text)
		if err := os.WriteFile(name, append([]byte{^text[0]}, text[1:]...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.wants(t, b.do("queue", "fetch", "j"), "the file that the queue keeps is damaged", "exit 1")
	for i, name := range kept {
		if err := os.WriteFile(name, whole[i], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.fetches(t)
	if err := os.RemoveAll(filepath.Join(b.dir, ".markmill", "runs")); err != nil {
		t.Fatal(err)
	}
	b.env = with(b.env, "AWS_SECRET_ACCESS_KEY=hush-wrong")
	b.wants(t, b.do("queue", "fetch", "j"), "larger files cannot be kept or read", "403 SignatureDoesNotMatch")

	// A rule of the bucket removes what no job needs any more, as docs/queue.md says.
	b.env = with(b.env, "AWS_SECRET_ACCESS_KEY=hush-hush")
	b.wants(t, b.do("queue", "prune", "--older-than", "0d"), "1 job", "exit 0")
	if left, err := filepath.Glob(filepath.Join(files, "*")); err != nil || len(left) != len(kept) {
		t.Errorf("of %d objects, %d are left: %v", len(kept), len(left), err)
	}
}
