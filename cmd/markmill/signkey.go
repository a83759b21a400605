package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"golang.org/x/crypto/ssh"

	"markmill/cmd/api/files"
	"markmill/notebooks"
	"markmill/runs/sshsig"
)

// sign signs text for a namespace with the SSH key in a file. Keys with a passphrase, in an agent or on a token are
// left to the program ssh-keygen, which asks for what it needs.
func (a *app) sign(file, namespace string, text []byte) ([]byte, error) {
	file, err := inHome(file)
	if err != nil {
		return nil, err
	}
	data, err := a.readInput(file, "a key", 1<<20)
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
		hint := "give an SSH private key without a passphrase, or install OpenSSH, whose ssh-keygen signs with other keys"
		if errors.As(err, new(*ssh.PassphraseMissingError)) {
			hint = "the key has a passphrase: install OpenSSH, whose ssh-keygen asks for it"
		}
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: file, Hint: hint, Err: err,
			Msg: "cannot be used to sign: " + err.Error()}
	}
	c := exec.Command(program, "-Y", "sign", "-q", "-f", file, "-n", namespace)
	var out, said bytes.Buffer
	c.Stdin, c.Stdout = bytes.NewReader(text), &out
	c.Stderr = io.MultiWriter(a.stderr, &said) // where it asks to touch a token
	if err := c.Run(); err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: file, Err: err,
			Msg:  fmt.Sprintf("cannot be used to sign: ssh-keygen: %s", strings.Join(strings.Fields(said.String()), " ")),
			Hint: "name an SSH private key, or the .pub of one that ssh-agent holds"}
	}
	return out.Bytes(), nil
}
