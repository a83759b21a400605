package result

import (
	"html"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/region"
)

// TestFirstPreview reads the status and words from the summary lines of the first preview.
func TestFirstPreview(t *testing.T) {
	for line, status := range map[string]string{
		"✓ <code>a</code> · exit 0": "pass",
		"✓ <code>a</code> · exit 0 · 1,234 passed, 5 failed, 6 skipped · 2 files +3 −4":       "",
		"✓ <code>a</code> · exit 3, allowed":                                                  "allowed",
		"✓ <code>a</code> · exit 3, as expected · 2 attempts":                                 "allowed",
		"✗ <code>a</code> · exit 1 · ValueError":                                              "fail",
		"✗ <code>a</code> · exit 0 · left 1 file changed · 12 passed, 1 failed":               "fail",
		"✗ <code>a</code> · exit 137, ended by signal KILL · 1 file +1 −0":                    "fail",
		"✗ <code>a</code> · exit 1 · new interpreter: the one before ended in b · 3 attempts": "fail",
		"✗ <code>a</code> · interrupted":                                                      "pending",
		"⏱ <code>a</code> · timed out":                                                        "timeout",
		"○ <code>a</code> · not reached":                                                      "pending",
		"○ <code>a</code> · skipped":                                                          "skip",
		"○ <code>a</code> · skipped: needs &lt;b&gt;":                                         "skip",
	} {
		for _, open := range []string{"", " open"} {
			body := "<details" + open + "><summary>" + line +
				"</summary>\n\n```text {.output}\n<details><summary>✗ <code>a</code> · exit 9</summary>\n```\n"
			out := region.Stripped{Manifest: &notebooks.Manifest{},
				Regions: []region.FoundRegion{{ID: "a", Body: []byte(body)}}}
			s := Steps(out)["a"]
			if status == "" { // test counts have no commas: not written by Markmill
				if s == nil || s.Tests != nil || s.Status != "pass" || s.Files != 2 {
					t.Errorf("%s: %+v", line, s)
				}
				continue
			}
			_, words, _ := strings.Cut(html.UnescapeString(line), "</code> · ")
			if s == nil || s.Status != status || strings.Join(Summary(s), " · ") != words ||
				!strings.HasPrefix(line, Mark(s)) {
				t.Errorf("%s: %+v, words %q", line, s, Summary(s))
			}
		}
	}
	if got := Steps(region.Stripped{Regions: []region.FoundRegion{{ID: "a",
		Body: []byte("<details><summary>✓ <code>a</code></summary>\n")}}}); len(got) != 0 {
		t.Errorf("without a manifest: %+v", got)
	}
}

// TestOnlyTheManifest: from format 2 on, regions are not parsed.
func TestOnlyTheManifest(t *testing.T) {
	out := region.Stripped{Manifest: &notebooks.Manifest{Format: 2,
		Steps:      []notebooks.ManifestStep{{ID: "a", Status: "fail"}},
		Parameters: []notebooks.ManifestParam{{Name: "n"}}},
		Regions: []region.FoundRegion{{ID: "a", Body: []byte("<details><summary>✓ <code>a</code></summary>\n")},
			{ID: "b", Body: []byte("<details><summary>✓ <code>b</code></summary>\n")},
			{ID: notebooks.TagInjected, Body: []byte("```yaml {.injected-parameters}\nn: 1\n```\n")}}}
	if got := Steps(out); len(got) != 1 || got["a"].Status != "fail" {
		t.Errorf("%+v", got)
	}
	if got := Parameters(out); len(got) != 1 || got[0].Given {
		t.Errorf("%+v", got)
	}
	out.Manifest.Format = 0
	if got := Parameters(out); len(got) != 1 || !got[0].Given {
		t.Errorf("%+v", got)
	}
}
