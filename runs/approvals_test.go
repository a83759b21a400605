package runs

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"markmill/notebooks/codec"
)

func anAnswer(t *testing.T, id string, terms Terms) []byte {
	t.Helper()
	digest, err := terms.Digest()
	if err != nil {
		t.Fatal(err)
	}
	text, err := codec.Indent(&Approval{ID: id, Answer: AnswerGranted, Contract: digest, Terms: terms, Time: aTime,
		Expires: aTime.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAnswersAreKeptAsTheyAre(t *testing.T) {
	a := newStore(t).Approvals()
	if got, err := a.Answers(); err != nil || got != nil {
		t.Fatalf("%v, %v", got, err)
	}
	text := anAnswer(t, "one", Terms{ContractRules: ContractRules{TaskID: "t"}})
	if err := a.Answer(text, []byte("signed")); err != nil {
		t.Fatal(err)
	}
	if err := a.Answer(anAnswer(t, "two", Terms{}), nil); err != nil {
		t.Fatal(err)
	}
	got, err := a.Answers()
	if err != nil || len(got) != 2 || string(got[0].Text) != string(text) || string(got[0].Signature) != "signed" ||
		got[1].Signature != nil || got[0].Used {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := a.Use("one", "run"); err != nil {
		t.Fatal(err)
	}
	if got, err = a.Answers(); err != nil || !got[0].Used || got[1].Used {
		t.Errorf("%+v, %v", got, err)
	}
	if err := a.Answer([]byte(strings.Replace(string(text), `"t"`, `"u"`, 1)), nil); err == nil {
		t.Error("terms that are not those of the contract were kept")
	}
}

// A damaged answer may be a denial: it is not passed over.
func TestDamagedAnswersAreTold(t *testing.T) {
	for name, text := range map[string]string{"bad.json": "{", "other.json": string(anAnswer(t, "one", Terms{})),
		"empty.json": ""} {
		a := newStore(t).Approvals()
		if err := a.Answer(anAnswer(t, "one", Terms{}), nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(a.dir, "answers", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Answers(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnApprovalIsUsedOnce(t *testing.T) {
	a := newStore(t).Approvals()
	var got, lost atomic.Int32
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			switch err := a.Use("one", "run"); {
			case err == nil:
				got.Add(1)
			case errors.Is(err, ErrUsed):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got.Load() != 1 || lost.Load() != 19 {
		t.Errorf("%d used it and %d lost", got.Load(), lost.Load())
	}
}

func TestSecretsAreConcealedByTheStore(t *testing.T) {
	one, two := newStore(t).Approvals(), newStore(t).Approvals()
	var wait sync.WaitGroup
	words := make([]string, 8)
	for i := range words { // also when several make the key at once
		wait.Go(func() {
			raw, err := one.Conceal("hunter2", rand.Reader)
			if err != nil {
				t.Error(err)
			}
			words[i] = string(raw)
		})
	}
	wait.Wait()
	for _, w := range words {
		if w != words[0] || strings.Contains(w, DigestOf([]byte("hunter2")).Hex()) {
			t.Errorf("%s and %s", w, words[0])
		}
	}
	if other, err := two.Conceal("hunter2", rand.Reader); err != nil || string(other) == words[0] {
		t.Errorf("another store says the same: %s, %v", other, err)
	}
	entries, err := os.ReadDir(one.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestDifferences(t *testing.T) {
	one := Terms{ContractRules: ContractRules{TaskID: "t", AllowedPaths: []string{"x"}},
		Parameters: []TermsParam{{Name: "a", Type: "int", Value: codec.Raw("1")},
			{Name: "b", Type: "int", Value: codec.Raw("2")}}}
	if got, err := one.Differences(&one); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	// Every member of the terms counts.
	fields := reflect.TypeFor[Terms]()
	for i := range fields.NumField() {
		two := one
		field := reflect.ValueOf(&two).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("changed")
		case reflect.Int64:
			field.SetInt(7)
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 3, 3))
		case reflect.Struct:
			two.Limits.Files = 7
		default:
			t.Fatalf("%s is of a kind that this test does not change", fields.Field(i).Name)
		}
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		got, err := one.Differences(&two)
		if err != nil || len(got) == 0 || !strings.HasPrefix(got[0], name) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if a, err := one.Digest(); err != nil {
			t.Error(err)
		} else if b, err := two.Digest(); err != nil || a == b {
			t.Errorf("%s is not in the digest (%v)", name, err)
		}
	}
	two := one
	two.Parameters = []TermsParam{{Name: "a", Type: "int", Value: codec.Raw("3")},
		{Name: "c", Type: "int", Value: codec.Raw("2")}}
	if got, err := one.Differences(&two); err != nil ||
		strings.Join(got, " ") != "parameters.a parameters.b parameters.c" {
		t.Errorf("%v, %v", got, err)
	}
}
