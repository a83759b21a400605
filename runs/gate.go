package runs

import (
	"time"
)

// GateData is the data of gate.blocked.
type GateData struct {
	Code    string   `json:"code"`
	Rule    string   `json:"rule,omitzero"` // the rule that stands against the run, as its author wrote it
	Paths   []string `json:"paths,omitempty"`
	Message string   `json:"words"`
}

// Blocker returns the gate as a reason why the run did not pass.
func (g GateData) Blocker() Blocker {
	return Blocker{Code: g.Code, Rule: g.Rule, Paths: g.Paths, Message: g.Message}
}

// ApprovalRequestedData is the data of approval.requested.
type ApprovalRequestedData struct {
	Code     string `json:"code"`
	Message  string `json:"words"`
	Contract Digest `json:"contract"` // of the terms
	File     string `json:"file"`     // the request, relative to the run directory
	Digest   Digest `json:"digest"`
}

// ApprovalGrantedData is the data of approval.granted: which approval this run has used.
type ApprovalGrantedData struct {
	ID         string       `json:"id"`
	Contract   Digest       `json:"contract"`
	Actor      string       `json:"actor"`
	Time       time.Time    `json:"time"`
	Expires    time.Time    `json:"expires"`
	Own        bool         `json:"own,omitzero"` // who granted it is who asked for it
	File       string       `json:"file"`
	Digest     Digest       `json:"digest"`
	Key        string       `json:"key,omitzero"`        // fingerprint of the key that signed
	Principals string       `json:"principals,omitzero"` // of its line in allowed_signers
	Signature  *SealedFile  `json:"signature,omitempty"`
	Signers    []SealedFile `json:"signers,omitempty"` // the allowed_signers files that it was held against
}

// ApprovalDeniedData is the data of approval.denied.
type ApprovalDeniedData struct {
	Code    string    `json:"code"`
	Rule    string    `json:"rule,omitzero"`
	Message string    `json:"words"`
	ID      string    `json:"id,omitzero"`
	Actor   string    `json:"actor,omitzero"`
	Time    time.Time `json:"time,omitzero"`
	File    string    `json:"file,omitzero"`
	Digest  Digest    `json:"digest,omitzero"`
}

// SealedFile is a file of the run directory and its digest.
type SealedFile struct {
	File   string `json:"file"`
	Digest Digest `json:"digest"`
}
