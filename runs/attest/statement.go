package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// The types of a statement (in-toto Attestation Framework v1, SLSA v1), and this program's own names.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://slsa.dev/provenance/v1"
	BuildType     = "urn:markmill:run:v1"
	Builder       = "urn:markmill:builder:v1"
)

// Statement is an in-toto statement: a claim about subjects.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Provenance `json:"predicate"`
}

// Resource is in-toto's ResourceDescriptor.
type Resource struct {
	Name        string            `json:"name,omitzero"`
	URI         string            `json:"uri,omitzero"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Provenance is SLSA's predicate.
type Provenance struct {
	BuildDefinition BuildDefinition `json:"buildDefinition"`
	RunDetails      RunDetails      `json:"runDetails"`
}

// BuildDefinition is the run's request.
type BuildDefinition struct {
	BuildType            string             `json:"buildType"`
	ExternalParameters   ExternalParameters `json:"externalParameters"`
	InternalParameters   InternalParameters `json:"internalParameters"`
	ResolvedDependencies []Resource         `json:"resolvedDependencies,omitempty"`
}

// ExternalParameters are controlled by whoever started the run.
type ExternalParameters struct {
	Notebook   Resource         `json:"notebook"`
	Parameters []runs.ParamData `json:"parameters"` // secrets as keyed digests
	BaseCommit string           `json:"baseCommit,omitzero"`
}

// InternalParameters are set by Markmill and the repository.
type InternalParameters struct {
	MutationMode   string   `json:"mutationMode"`
	AllowedPaths   []string `json:"allowedPaths"`
	ForbiddenPaths []string `json:"forbiddenPaths"`
	Platform       string   `json:"platform"`
}

// RunDetails describes this particular run.
type RunDetails struct {
	Builder    BuilderData `json:"builder"`
	Metadata   Metadata    `json:"metadata"`
	Byproducts []Resource  `json:"byproducts,omitempty"`
}

// BuilderData names the program that ran the notebook.
type BuilderData struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version"`
}

// Metadata says which run it was and when.
type Metadata struct {
	InvocationID string    `json:"invocationId"`
	StartedOn    time.Time `json:"startedOn"`
	FinishedOn   time.Time `json:"finishedOn"`
}

// Of returns the statement of a finished run. digests holds the digests of its record's files.
func Of(run *runs.Run, digests map[string]runs.Digest) (*Statement, error) {
	if run.Completed == nil {
		return nil, &notebooks.Error{
			Kind: notebooks.KindInput, Msg: fmt.Sprintf("run %s has not ended, so there is nothing to attest", run.ID),
			Hint: "wait for it, or complete an interrupted run with markmill runs maintain reconcile",
		}
	}
	s := &Statement{Type: StatementType, PredicateType: PredicateType}
	files := append(run.OutputFiles(), runs.PatchFile, runs.ReportFile, runs.SumsFile)
	if bundle := run.Completed.Bundle; bundle != nil {
		files = append(files, bundle.File)
		s.Subject = append(s.Subject, Resource{Name: bundle.Ref, Digest: gitCommit(run.Completed.ResultCommit)})
	}
	for _, name := range files {
		digest, there := digests[name]
		if !there {
			return nil, &notebooks.Error{
				Kind: notebooks.KindRecord, File: name, Msg: "is not in the run directory",
				Hint: "see markmill verify",
			}
		}
		s.Subject = append(s.Subject, Resource{Name: name, Digest: sha256(digest)})
	}
	c := run.Contract
	d := &s.Predicate.BuildDefinition
	d.BuildType = BuildType
	d.ExternalParameters = ExternalParameters{
		Notebook:   Resource{Name: filepath.ToSlash(run.Started.Notebook), Digest: sha256(run.Source)},
		Parameters: append([]runs.ParamData{}, c.Parameters...), BaseCommit: c.BaseCommit,
	}
	d.InternalParameters = InternalParameters{
		MutationMode: c.MutationMode, AllowedPaths: append([]string{}, c.AllowedPaths...),
		ForbiddenPaths: append([]string{}, c.ForbiddenPaths...), Platform: run.Started.Host,
	}
	if c.BaseCommit != "" {
		d.ResolvedDependencies = append(d.ResolvedDependencies, Resource{Name: "base commit",
			Digest: gitCommit(c.BaseCommit)})
	}
	d.ResolvedDependencies = append(d.ResolvedDependencies, interpreters(run)...)
	s.Predicate.RunDetails = RunDetails{
		Builder: BuilderData{ID: Builder, Version: map[string]string{"markmill": run.Started.Markmill}},
		Metadata: Metadata{InvocationID: string(run.ID), StartedOn: run.StartedAt.UTC(),
			FinishedOn: run.FinishedAt.UTC()},
	}
	for _, name := range []string{runs.JournalFile, runs.TestLogFile} {
		if digest, there := digests[name]; there {
			r := Resource{Name: name, Digest: sha256(digest)}
			if name == runs.JournalFile {
				r.Annotations = map[string]string{"status": string(run.Status())}
			}
			s.Predicate.RunDetails.Byproducts = append(s.Predicate.RunDetails.Byproducts, r)
		}
	}
	return s, nil
}

// interpreters returns the programs that ran steps, without duplicates.
func interpreters(run *runs.Run) []Resource {
	var out []Resource
	for i := range run.Steps {
		started := run.Steps[i].Step
		if started == nil || started.Program == "" {
			continue
		}
		program := filepath.ToSlash(started.Program)
		r := Resource{Name: started.Kernel, URI: (&url.URL{Scheme: "file", Path: path.Join("/", program)}).String()}
		if started.Version != "" {
			r.Annotations = map[string]string{"version": started.Version}
		}
		if !slices.ContainsFunc(out, func(o Resource) bool { return o.Name == r.Name && o.URI == r.URI }) {
			out = append(out, r)
		}
	}
	return out
}

func gitCommit(oid string) map[string]string { return map[string]string{"gitCommit": oid} }

func sha256(d runs.Digest) map[string]string { return map[string]string{"sha256": d.Hex()} }

// JSON returns the statement as canonical JSON, so that the same run gives the same bytes.
func (s *Statement) JSON() ([]byte, error) { return codec.Marshal(s) }

// Matches returns where a statement differs from the one that the run gives now, or "".
func (s *Statement) Matches(own *Statement) string {
	if s.Type != StatementType || s.PredicateType != PredicateType {
		return fmt.Sprintf("it is a %s of the type %s, which is not that of a run", s.Type, s.PredicateType)
	}
	if got, want := s.Predicate.RunDetails.Metadata.InvocationID,
		own.Predicate.RunDetails.Metadata.InvocationID; got != want {
		return fmt.Sprintf("it is of the run %s, not of %s", got, want)
	}
	for _, want := range own.Subject {
		i := slices.IndexFunc(s.Subject, func(r Resource) bool { return r.Name == want.Name })
		if i < 0 {
			return want.Name + " is not among its subjects"
		}
		for kind, digest := range want.Digest {
			if s.Subject[i].Digest[kind] != digest {
				return fmt.Sprintf("%s is %s there and %s in the record", want.Name, s.Subject[i].Digest[kind], digest)
			}
		}
	}
	return ""
}

// PayloadType is the type of an in-toto statement in an envelope.
const PayloadType = "application/vnd.in-toto+json"

// Envelope is a DSSE envelope (Dead Simple Signing Envelope, protocol 1.0).
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []Signature `json:"signatures"`
}

// Signature is one key's signature. KeyID is only a hint: here the key's fingerprint, as ssh-keygen -l shows it.
type Signature struct {
	KeyID string `json:"keyid,omitzero"`
	Sig   string `json:"sig"` // base64
}

// pae returns DSSE's pre-authentication encoding, the bytes that are signed. It binds the type to the payload.
func pae(payloadType string, payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// Sign puts a payload into an envelope.
func Sign(payload []byte, key ed25519.PrivateKey) (*Envelope, error) {
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	sig := ed25519.Sign(key, pae(PayloadType, payload))
	return &Envelope{PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString(payload),
			Signatures: []Signature{{KeyID: ssh.FingerprintSHA256(public),
				Sig: base64.StdEncoding.EncodeToString(sig)}}},
		nil
}

// errNoSignature means that no signature in an envelope is by the key.
var errNoSignature = errors.New("no signature in it is by this key over these bytes")

// Verify parses an envelope and returns its statement if one of its signatures is by the key.
func Verify(envelope []byte, key ed25519.PublicKey) (*Statement, error) {
	var e Envelope
	if err := codec.Unmarshal(envelope, &e); err != nil {
		return nil, fmt.Errorf("is no DSSE envelope: %w", err)
	}
	payload, err := decode(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("its payload is not base64: %w", err)
	}
	signed := false
	for _, s := range e.Signatures {
		if sig, err := decode(s.Sig); err == nil {
			signed = signed || ed25519.Verify(key, pae(e.PayloadType, payload), sig)
		}
	}
	if !signed {
		return nil, errNoSignature
	}
	if e.PayloadType != PayloadType {
		return nil, fmt.Errorf("it holds a %s, not a %s", e.PayloadType, PayloadType)
	}
	var s Statement
	if err := codec.Unmarshal(payload, &s); err != nil {
		return nil, fmt.Errorf("its payload is no statement: %w", err)
	}
	return &s, nil
}

// decode accepts standard and URL-safe base64, as DSSE requires.
func decode(text string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return base64.URLEncoding.DecodeString(text)
	}
	return b, nil
}
