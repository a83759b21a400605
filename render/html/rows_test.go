package html

import (
	"fmt"
	"testing"
)

func TestRows(t *testing.T) {
	for src, want := range map[string]string{
		"<p>x</p><div><table><thead><tr><th></th><th>a</th></tr></thead><tbody><tr><th>0</th><td>1 " +
			"<b>2</b><br>3</td></tr></tbody></table></div>": `[["" "a"] ["0" "1 2 3"]] true`,
		`<table><tr><td colspan="2">wide</td><td>x</td></tr></table>`:          `[["wide" "" "x"]] true`,
		`<table><tr><td><table><tr><td>in</td></tr></table></td></tr></table>`: `[] false`,
		`<p>no table</p>`: `[] false`,
		`<table></table>`: `[] false`,
		`<script>x</script><table><tr><td>&lt;b&gt;</td></tr></table>`: `[["<b>"]] true`,
	} {
		rows, ok := Rows(src)
		if got := fmt.Sprintf("%q %v", rows, ok); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
}
