package program

import (
	"os"
	"path/filepath"

	"markmill/cmd/internal/signing"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/runs"
	"markmill/runs/sshsig"
)

// SignKey is the file of the key that signs records; "" without one.
func (a *App) SignKey(cfg engine.Config) (string, error) {
	key, err := signing.Open(cfg, a.Getenv, a.Stderr)
	return key.File, err
}

// key is the key in a file.
func (a *App) key(file string) signing.Key { return signing.Key{File: file, Ask: a.Stderr} }

// SignWith returns the function that signs the manifests of output notebooks; nil without a key.
func (a *App) SignWith(key string) func(engine.ViewInput) (map[string]string, error) {
	return a.key(key).Manifests()
}

// SignRecord signs the SHA256SUMS of a complete record.
func (a *App) SignRecord(dir, key string) error { return a.key(key).Record(dir) }

// Sign signs text for a namespace with the SSH key in a file.
func (a *App) Sign(file, namespace string, text []byte) ([]byte, error) {
	return a.key(file).Sign(namespace, text)
}

// Signers are the keys whose signatures of records count: those in a file, or in the allowed_signers of the policy of
// the checkout at root.
func (a *App) Signers(file, root string) (runs.Signers, error) {
	s := runs.Signers{Now: a.Now()}
	if file == "" && root != "" {
		cfg, err := engine.LoadConfig(root)
		if err != nil {
			return s, err
		}
		if cfg.Policy == nil || cfg.Policy.Signers == "" {
			return s, nil
		}
		if file = cfg.Policy.Signers; !filepath.IsAbs(file) {
			file = filepath.Join(root, filepath.FromSlash(file))
		}
	}
	if file == "" {
		return s, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return s, &notebooks.Error{Kind: notebooks.KindInput, File: file,
			Msg:  "the allowed_signers file cannot be read: " + err.Error(),
			Hint: "name a file in OpenSSH's ALLOWED SIGNERS format", Err: err}
	}
	s.Allowed = sshsig.ParseAllowedSigners(text, s.Now.Location())
	return s, nil
}
