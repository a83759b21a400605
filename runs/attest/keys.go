package attest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"

	"golang.org/x/crypto/ssh"

	"markmill/notebooks"
)

// PrivateKey reads an Ed25519 key: OpenSSH's own format, or PEM with PKCS#8.
func PrivateKey(file string) (ed25519.PrivateKey, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, keyError(file, err, "make one with ssh-keygen -t ed25519")
	}
	key, err := ssh.ParseRawPrivateKey(data)
	if errors.As(err, new(*ssh.PassphraseMissingError)) {
		return nil, keyError(file, errors.New("the key has a passphrase"),
			"give a key without one, kept where only the signer reads it")
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return key, nil
	case *ed25519.PrivateKey:
		return *key, nil
	}
	if err == nil {
		err = errors.New("it is no Ed25519 key")
	}
	return nil, keyError(file, err, "make one with ssh-keygen -t ed25519")
}

// PublicKey reads the key to verify with: a line as in id_ed25519.pub, or PEM.
func PublicKey(file string) (ed25519.PublicKey, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, keyError(file, err, "name the public key of who signed")
	}
	var key crypto.PublicKey
	if block, _ := pem.Decode(data); block != nil {
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	} else if line, _, _, _, lineErr := ssh.ParseAuthorizedKey(data); lineErr != nil {
		err = lineErr
	} else if line, ok := line.(ssh.CryptoPublicKey); ok {
		key = line.CryptoPublicKey()
	}
	if public, ok := key.(ed25519.PublicKey); ok && err == nil {
		return public, nil
	}
	if err == nil {
		err = errors.New("it is no Ed25519 key")
	}
	return nil, keyError(file, err, "name the public key: the .pub file beside the private one, or PEM")
}

func keyError(file string, err error, hint string) error {
	return &notebooks.Error{
		Kind: notebooks.KindInput, File: file, Msg: "cannot be used as a key: " + err.Error(), Hint: hint, Err: err,
	}
}
