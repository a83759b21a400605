package main

import (
	"fmt"
	"sync"

	"markmill/cmd/api"
	"markmill/render/review"
	"markmill/runs"
)

// prover finds how far output notebooks can be trusted. The records that are kept here are looked up once. signers
// says whose signatures count.
func (a *app) prover(signers runs.Signers) func(path string, output []byte) review.Proof {
	outputs := sync.OnceValue(func() map[runs.Digest][]string {
		store, _, err := a.here()
		if err != nil {
			return nil // as where there are no runs
		}
		made, _ := store.Outputs()
		return made
	})
	return func(path string, output []byte) review.Proof {
		proof := review.Proof{Level: review.Claimed}
		for _, dir := range outputs()[runs.DigestOf(output)] {
			v, err := runs.At(dir).Verify(api.FoldView, signers)
			switch {
			case err != nil:
				proof.Words = fmt.Sprintf("its record cannot be read: %v", err)
			case len(v.Findings) > 0:
				proof.Words = fmt.Sprintf("its record does not verify: %s: %s", v.Findings[0].Where, v.Findings[0].Message)
			case v.Run != nil && v.Signed.Counts():
				return review.Proof{Level: review.Signed, Run: string(v.Run.ID), Words: v.Signed.Words()}
			case v.Run != nil:
				proof = review.Proof{Level: review.Recorded, Run: string(v.Run.ID)}
			}
		}
		by, err := runs.SignedOutput(path, output, signers)
		switch {
		case err != nil:
			proof.Words = "the signature of its manifest does not hold: " + err.Error()
		case by.Counts():
			proof.Level, proof.Words = review.Signed, by.Words()
		case by != nil && proof.Level == review.Claimed:
			proof.Words = by.Words()
		}
		return proof
	}
}
