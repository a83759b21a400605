package params

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"markmill/notebooks/lazyregexp"
)

var rangeWord = lazyregexp.New(`^(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.(-?[0-9]+))?$`)

// ranged expands FROM..TO and FROM..TO..STEP as bash does: leading zeros keep their width, and a range may go down. Any
// other word stands for itself.
func ranged(word string, most int) ([]string, error) {
	m := rangeWord.FindStringSubmatch(word)
	if m == nil {
		return []string{word}, nil
	}
	var ends [3]*big.Int
	for i := range ends {
		ends[i], _ = new(big.Int).SetString(m[i+1], 10)
	}
	from, to, step := ends[0], ends[1], ends[2]
	down := from.Cmp(to) > 0
	switch {
	case step == nil && down:
		step = big.NewInt(-1)
	case step == nil:
		step = big.NewInt(1)
	case step.Sign() == 0:
		return nil, errors.New("has the step 0")
	case from.Cmp(to) != 0 && (step.Sign() < 0) != down:
		return nil, errors.New("has a step that leads away from its end")
	}
	count := new(big.Int).Sub(to, from)
	count.Quo(count, step).Add(count, big.NewInt(1))
	if count.Cmp(big.NewInt(int64(most))) > 0 {
		return nil, fmt.Errorf("has %s values, and %d are allowed", count, most)
	}
	width := 0
	for _, end := range m[1:3] {
		if digits := strings.TrimPrefix(end, "-"); len(digits) > 1 && digits[0] == '0' {
			width = max(width, len(end))
		}
	}
	out := make([]string, count.Int64())
	n := new(big.Int).Set(from)
	for i := range out {
		out[i] = fmt.Sprintf("%0*d", width, n)
		n.Add(n, step)
	}
	return out, nil
}
