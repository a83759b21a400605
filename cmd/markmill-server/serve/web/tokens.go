package web

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"markmill/runs"
)

// tokenPrefix begins every token, so that programs that look for lost secrets know one.
const tokenPrefix = "markmill_"

// A person is a line of the tokens file: NAME ROLE CREDENTIAL.
type person struct {
	name string
	role role
	// credential is sha256:HEX of a token, or proxy: the proxy says who it is.
	credential string
}

const (
	byProxy  = "proxy"
	anybody  = "*" // name of a line for whomever the proxy lets through
	hashWord = "sha256:"
)

// hashOf is the credential of a token. A token has 130 random bits, so that one round of a fast hash suffices.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hashWord + hex.EncodeToString(sum[:])
}

// tokens is the tokens file. It is read again when it has changed, so that a line that is taken out ends what its
// person may do at once. While it cannot be read, nobody may do anything.
type tokens struct {
	file string
	say  func(string)

	mutex  sync.Mutex
	size   int64
	time   time.Time
	read   bool
	people []person
	err    error
}

// newTokens reads a tokens file.
func newTokens(file string, say func(string)) (*tokens, error) {
	t := &tokens{file: file, say: say}
	people, err := t.all()
	if err == nil && len(people) == 0 {
		err = fmt.Errorf("%s names nobody; markmill serve token NAME --tokens %[1]s makes a token", file)
	}
	return t, err
}

// all are the people of the file as it is now.
func (t *tokens) all() ([]person, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	info, err := os.Stat(t.file)
	if err == nil && t.read && info.Size() == t.size && info.ModTime().Equal(t.time) {
		return t.people, t.err
	}
	if err == nil {
		t.size, t.time = info.Size(), info.ModTime()
		t.people, err = readTokens(t.file)
	}
	if err != nil && (t.err == nil || t.err.Error() != err.Error()) && t.read {
		t.say("Nobody can sign in: " + err.Error())
	}
	t.read, t.err = true, err
	if err != nil {
		t.people = nil
	}
	return t.people, err
}

// find returns the person with a credential. Only hashes are compared, so that the time tells nothing of a token.
func (t *tokens) find(credential, name string) (person, error) {
	people, err := t.all()
	if err != nil {
		return person{}, err
	}
	var found *person
	for _, p := range people {
		switch {
		case p.credential != credential:
		case credential != byProxy:
			return p, nil
		case p.name == name:
			return p, nil
		case p.name == anybody:
			found = &person{name, p.role, byProxy}
		}
	}
	if found == nil {
		return person{}, errUnknown
	}
	return *found, nil
}

var errUnknown = errors.New("nobody has this token")

// maxTokens bounds the tokens file, in bytes.
const maxTokens = 1 << 20

func readTokens(file string) ([]person, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := mayTrust(file, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokens+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTokens {
		return nil, fmt.Errorf("%s is longer than %d bytes", file, maxTokens)
	}
	return parseTokens(file, text)
}

// isPerson reports whether a name can name a person, and nobody else.
func isPerson(name string) bool { return runs.IsPerson(name) && name != webhookActor }

// parseTokens reads the lines of a tokens file. Empty ones and those that begin with # are left out.
func parseTokens(file string, text []byte) (people []person, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxTokens+1)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("%s:%d: %d words; a line is NAME ROLE CREDENTIAL, as markmill serve token "+
				"writes it", file, n, len(words))
		}
		p := person{name: words[0], credential: words[2]}
		if p.role, err = parseRole(words[1]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if !isPerson(p.name) && (p.name != anybody || p.credential != byProxy) {
			return nil, fmt.Errorf("%s:%d: %q can name nobody; a name has letters, digits and . _ - + @", file, n,
				p.name)
		}
		if sum, hashed := strings.CutPrefix(p.credential, hashWord); p.credential != byProxy {
			if b, err := hex.DecodeString(sum); !hashed || err != nil || len(b) != sha256.Size {
				return nil, fmt.Errorf("%s:%d: %q is neither %s and 64 hexadecimal digits nor %s", file, n,
					p.credential, hashWord, byProxy)
			}
			p.credential = strings.ToLower(p.credential)
		}
		people = append(people, p)
	}
	return people, lines.Err()
}

// AddToken adds a person to a tokens file, which it makes if it is not there, and returns the person's token. A person
// can have several tokens.
func AddToken(file, name, roleName string) (token string, err error) {
	granted, err := parseRole(roleName)
	if err != nil {
		return "", fmt.Errorf("--role: %w", err)
	}
	if !isPerson(name) {
		return "", fmt.Errorf("%q can name nobody; a name has at most 64 letters, digits and . _ - + @", name)
	}
	if _, err := readTokens(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	token = tokenPrefix + rand.Text()
	line := fmt.Sprintf("%s %s %s\n", name, granted, hashOf(token))
	if info, serr := f.Stat(); serr == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	_, err = f.WriteString(line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	return token, nil
}
