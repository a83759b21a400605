package runs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func BenchmarkAppend(b *testing.B) {
	j, err := CreateJournal(filepath.Join(b.TempDir(), JournalFile), DigestOf(nil), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	for b.Loop() {
		if _, err := j.Append(StepFinished, "collect", aFinishedStep); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadJournal(b *testing.B) {
	path := filepath.Join(b.TempDir(), JournalFile)
	j, err := CreateJournal(path, DigestOf(nil), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	for range 1000 {
		if _, err := j.Append(StepFinished, "collect", aFinishedStep); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := ReadJournal(bytes.NewReader(text), DigestOf(nil)); err != nil {
			b.Fatal(err)
		}
	}
}

var aFinishedStep = StepFinishedData{
	Index: 3, Status: StepPassed, Attempts: 1, DurationNS: 1234567,
	Stdout: StreamData{File: "steps/03-collect/stdout", Bytes: 12345, Digest: DigestOf([]byte("out"))},
	Result: "steps/03-collect/result.json", ResultDigest: DigestOf([]byte("result")),
	Commit: "0123456789012345678901234567890123456789", Tree: "9876543210987654321098765432109876543210",
}
