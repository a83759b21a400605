package signing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/runs"
	"markmill/runs/sshsig"
)

// Key is a key that signs.
type Key struct {
	File string    // "" signs nothing
	Ask  io.Writer // where a program that signs asks for what it needs
}

// Open finds the key that signs records. MARKMILL_SIGN_KEY, which may be empty, wins over sign: of the settings.
func Open(cfg engine.Config, getenv func(string) (string, bool), ask io.Writer) (Key, error) {
	key := cfg.Sign
	if name, set := getenv("MARKMILL_SIGN_KEY"); set {
		key = name
	}
	if key == "" {
		return Key{}, nil
	}
	file, err := inHome(key)
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		return Key{}, &notebooks.Error{Kind: notebooks.KindInput, File: key,
			Msg: "the key that is to sign cannot be read: " + err.Error(),
			Hint: "name an SSH private key in sign: of " + engine.ConfigFile +
				" or in MARKMILL_SIGN_KEY, which signs nothing when it is empty", Err: err}
	}
	return Key{file, ask}, nil
}

// Manifests returns the function that signs the manifests of output notebooks; nil without a key.
func (k Key) Manifests() func(engine.ViewInput) (map[string]string, error) {
	if k.File == "" {
		return nil
	}
	return func(in engine.ViewInput) (map[string]string, error) {
		out := map[string]string{}
		for _, file := range in.Run.OutputFiles() {
			text, err := views.OutputNotebook(in, file)
			if err != nil {
				return nil, err
			}
			m, err := signedManifest(file, text)
			if err != nil {
				return nil, err
			}
			data, err := m.SigningBytes()
			if err != nil {
				return nil, err
			}
			armored, err := k.Sign(runs.OutputNamespace, data)
			if err != nil {
				return nil, err
			}
			out[file] = string(armored)
		}
		return out, nil
	}
}

// signedManifest is the manifest of an output notebook that is to be signed.
func signedManifest(name string, text []byte) (*notebooks.Manifest, error) {
	m, err := forms.Manifest(name, text)
	if err == nil && m == nil {
		err = fmt.Errorf("%s has no manifest", name)
	}
	return m, err
}

// Record signs the SHA256SUMS of a complete record.
func (k Key) Record(dir string) error {
	if k.File == "" {
		return nil
	}
	sums, err := runs.At(dir).ReadFile(runs.SumsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a file of the record could not be written, which the run says
	}
	if err != nil {
		return err
	}
	armored, err := k.Sign(runs.RecordNamespace, sums)
	if err != nil {
		return fmt.Errorf("the record is complete and not signed: %w", err)
	}
	return runs.At(dir).Write(runs.SumsSignatureFile, armored)
}

// inHome replaces ~/ by the home: shells leave it where it is quoted.
func inHome(file string) (string, error) {
	rest, ok := strings.CutPrefix(file, "~/")
	if !ok {
		return file, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, rest), err
}

// Sign signs text for a namespace. Keys with a passphrase, in an agent or on a token are
// left to the program ssh-keygen, which asks for what it needs.
func (k Key) Sign(namespace string, text []byte) ([]byte, error) {
	file, err := inHome(k.File)
	if err != nil {
		return nil, err
	}
	data, err := files.Read(file, "a key", 1<<20)
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: file, Err: err,
			Msg:  "the signing key cannot be read: " + files.ReadError(file, err).Error(),
			Hint: "name the file of an SSH private key"}
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err == nil {
		return sshsig.Sign(signer, namespace, text)
	}
	program, lost := exec.LookPath("ssh-keygen")
	if lost != nil {
		hint := "give an SSH private key without a passphrase, or install OpenSSH, whose ssh-keygen " +
			"signs with other keys"
		if errors.As(err, new(*ssh.PassphraseMissingError)) {
			hint = "the key has a passphrase: install OpenSSH, whose ssh-keygen asks for it"
		}
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: file, Hint: hint, Err: err,
			Msg: "cannot be used to sign: " + err.Error()}
	}
	c := exec.Command(program, "-Y", "sign", "-q", "-f", file, "-n", namespace)
	var out, said bytes.Buffer
	c.Stdin, c.Stdout = bytes.NewReader(text), &out
	c.Stderr = io.MultiWriter(k.Ask, &said) // where it asks to touch a token
	if err := c.Run(); err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: file, Err: err,
			Msg: fmt.Sprintf("cannot be used to sign: ssh-keygen: %s", strings.Join(strings.Fields(said.String()),
				" ")),
			Hint: "name an SSH private key, or the .pub of one that ssh-agent holds"}
	}
	return out.Bytes(), nil
}
