package main

import (
	"fmt"
	"sync"

	"markmill/cmd/api"
	"markmill/render/review"
	"markmill/runs"
)

// prover finds how far output notebooks can be trusted. The records that are kept here are looked up once. A signature of the manifest,
// and what a repeated run gave, would raise the level here.
func (a *app) prover() func(path string, output []byte) review.Proof {
	outputs := sync.OnceValue(func() map[runs.Digest][]string {
		store, _, err := a.here()
		if err != nil {
			return nil // as where there are no runs
		}
		made, _ := store.Outputs()
		return made
	})
	return func(_ string, output []byte) review.Proof {
		proof := review.Proof{Level: review.Claimed}
		for _, dir := range outputs()[runs.DigestOf(output)] {
			v, err := runs.Verify(dir, api.FoldOutput)
			if err == nil && v.Run != nil {
				err = verifyPage(v)
			}
			switch {
			case err != nil:
				proof.Words = fmt.Sprintf("its record cannot be read: %v", err)
			case len(v.Findings) > 0:
				proof.Words = fmt.Sprintf("its record does not verify: %s: %s", v.Findings[0].Where, v.Findings[0].Words)
			case v.Run != nil:
				return review.Proof{Level: review.Recorded, Run: string(v.Run.ID)}
			}
		}
		return proof
	}
}
