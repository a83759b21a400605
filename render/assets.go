package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/render/result"
	"markmill/runs"
)

// Asset is a picture that must be placed beside the output notebook.
type Asset struct {
	From string // path in the run directory, slash-separated
	To   string // path relative to the output notebook, slash-separated
}

// Assets lists the pictures of a run's output notebook, in order. There are none if the run names no folder for
// them.
func Assets(run *runs.Run) []Asset {
	var out []Asset
	for _, p := range slices.Concat(pictures(Shown(run))...) {
		if p.to != "" {
			out = append(out, Asset{From: p.from, To: p.to})
		}
	}
	return out
}

// picture is one picture of a step.
type picture struct {
	from, to string // to is "" where there is no folder for it
	alt      string
	mime     string
	digest   runs.Digest
	scrap    bool // it is a scrap, and no result
}

// extensions maps the media types that Markdown shows as pictures to file extensions.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
}

// maxPictures bounds the pictures of one step. The others are only in the run directory.
const maxPictures = 20

// pictures returns the pictures of each step, by index in run.Steps. Names are <assets>/<step>-<k>.<ext>. They
// depend on nothing else in the run, unless two ids differ only in characters that file names cannot hold.
func pictures(run *runs.Run) [][]picture {
	out := make([][]picture, len(run.Steps))
	used := map[string]bool{}
	for i, s := range run.Steps {
		if s.Finished == nil || result.Hides(s.Planned.Tags) {
			continue
		}
		base := fileName(string(s.Planned.ID))
		if used[strings.ToLower(base)] {
			base = fmt.Sprintf("%s.%d", base, s.Planned.Index)
		}
		used[strings.ToLower(base)] = true
		for _, p := range stepPictures(s) {
			if len(out[i]) == maxPictures {
				break
			}
			if run.Started.Assets != "" {
				p.to = path.Join(run.Started.Assets, fmt.Sprintf("%s-%d%s", base, len(out[i])+1, extensions[p.mime]))
			}
			out[i] = append(out[i], p)
		}
	}
	return out
}

// stepPictures returns the displayed pictures, then the displayed scraps. A picture that is both appears once.
func stepPictures(s runs.StepRecord) []picture {
	var out []picture
	seen := map[runs.Digest]bool{}
	add := func(p picture, d runs.Digest) {
		if extensions[p.mime] == "" || p.from == "" || d != "" && seen[d] {
			return
		}
		seen[d] = true
		out = append(out, p)
	}
	for _, d := range s.Finished.Displays {
		add(picture{from: d.File, alt: d.Alt, mime: d.MIME, digest: d.Digest}, d.Digest)
	}
	for _, c := range s.Scraps {
		if c.Display {
			add(picture{from: c.File, alt: c.Name, mime: c.MIME, digest: c.Digest, scrap: true}, c.Digest)
		}
	}
	return out
}

// fileName turns a step's id into a file name that is valid on every system.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, id)
}
