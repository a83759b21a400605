package object

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RunTrailer is the line of a commit's message that names the run.
const RunTrailer = "Markmill-Run"

// OutputTrailer is the line of a commit's message that names the output notebook of the run, if the commit has nothing
// else.
const OutputTrailer = "Markmill-Output"

// Trailer returns the value of a line of the message, "" without one.
func (c *Commit) Trailer(name string) string {
	_, value, _ := strings.Cut(c.Message, "\n"+name+": ")
	value, _, _ = strings.Cut(value, "\n")
	return strings.TrimSpace(value)
}

// Identity is who a commit is by.
type Identity struct{ Name, Email string }

// NewCommit is a commit to be made.
type NewCommit struct {
	Tree, Parent      Digest // a zero parent is none
	Author, Committer Identity
	At                time.Time
	Message           string
}

// Encode returns the commit object.
func (c NewCommit) Encode(f *Format) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", f.OID(c.Tree))
	if !c.Parent.IsZero() {
		fmt.Fprintf(&b, "parent %s\n", f.OID(c.Parent))
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", signature(c.Author, c.At), signature(c.Committer, c.At), c.Message)
	if !strings.HasSuffix(c.Message, "\n") {
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// signature is a person and a time as commits hold them.
func signature(who Identity, at time.Time) string {
	clean := strings.NewReplacer("<", "", ">", "", "\n", " ", "\x00", "").Replace
	name, email := strings.TrimSpace(clean(who.Name)), strings.TrimSpace(clean(who.Email))
	if name == "" {
		name = "markmill"
	}
	return fmt.Sprintf("%s <%s> %d %s", name, email, at.Unix(), at.Format("-0700"))
}

// Commit is what a commit says, as far as Git reads it: its tree, then its parents, then its people.
type Commit struct {
	Tree    Digest
	Parents []Digest
	Date    int64 // of the committer, in seconds
	Message string
}

// ParseCommit reads a commit object. What is missing or damaged is zero.
func ParseCommit(f *Format, data []byte) (c Commit) {
	head, message, _ := strings.Cut(string(data), "\n\n")
	c.Message = message
	named := func(field string) (d Digest, ok bool) {
		line, rest, _ := strings.Cut(head, "\n")
		name, ok := strings.CutPrefix(line, field+" ")
		if ok {
			d, ok = f.Parse(OID(name))
			head = rest
		}
		return d, ok
	}
	c.Tree, _ = named("tree")
	for d, ok := named("parent"); ok; d, ok = named("parent") {
		c.Parents = append(c.Parents, d)
	}
	if _, committer, ok := strings.Cut("\n"+head, "\ncommitter "); ok {
		committer, _, _ = strings.Cut(committer, "\n")
		if words := strings.Fields(committer); len(words) > 1 {
			c.Date, _ = strconv.ParseInt(words[len(words)-2], 10, 64)
		}
	}
	return c
}
