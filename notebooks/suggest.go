package notebooks

import "strings"

// Suggest returns the known name that is nearest to a word that may be a slip of it, or "". One slip is allowed in a
// short word, and one more for every four characters, three at most; differences of case and between - and _ do not
// count. Of equally near names the first one wins.
func Suggest(word string, known []string) string {
	fold := func(s string) []rune {
		return []rune(strings.ReplaceAll(strings.ToLower(s), "_", "-"))
	}
	a := fold(word)
	if len(a) == 0 || len(a) > 64 {
		return ""
	}
	best, limit := "", min(1+len(a)/4, 3)
	if len(a) < 3 {
		limit = 0
	}
	for _, name := range known {
		if name == word {
			continue
		}
		b := fold(name)
		if max(len(a), len(b))-min(len(a), len(b)) > limit || len(b) <= limit {
			continue
		}
		if d := EditDistance(a, b); d <= limit {
			if d == 0 {
				return name
			}
			best, limit = name, d-1
		}
	}
	return best
}

// EditDistance counts insertions, deletions, substitutions and swaps of neighbors (optimal string alignment).
func EditDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
