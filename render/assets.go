package render

import (
	"fmt"
	"path"
	"strings"

	"markmill/render/result"
	"markmill/runs"
)

// Asset is a picture that the output notebook shows and that must stand beside it.
type Asset struct {
	From string // path in the run directory, slash-separated
	To   string // path relative to the output notebook, slash-separated
}

// Assets lists the pictures that the output notebook of run shows, in its order. There are none
// where the run names no folder for them.
func Assets(run *runs.Run) []Asset {
	var out []Asset
	for _, p := range pictures(Shown(run)) {
		for _, one := range p {
			if one.to != "" {
				out = append(out, Asset{From: one.from, To: one.to})
			}
		}
	}
	return out
}

// picture is one picture of a step.
type picture struct {
	from, to string // to is "" where there is no folder for it
	alt      string
	mime     string
	bytes    int64
	digest   runs.Digest
	scrap    bool // it is a scrap, and no result
}

// extensions of the media types that a Markdown page shows as a picture.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
}

// maxPictures bounds what one step shows; the others are in the run directory.
const maxPictures = 20

// pictures returns those of every step, by place in run.Steps. Names are <assets>/<step>-<k>.<ext>,
// the same whatever else the run did, unless two ids differ only in what a file name cannot hold.
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

// stepPictures returns the displays that are pictures, then the scraps that are shown. One that is
// both is shown once.
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
		add(picture{from: d.File, alt: d.Alt, mime: d.MIME, bytes: d.Bytes, digest: d.Digest}, d.Digest)
	}
	for _, c := range s.Scraps {
		if c.Display {
			add(picture{from: c.File, alt: c.Name, mime: c.MIME, digest: c.Digest, scrap: true}, c.Digest)
		}
	}
	return out
}

// fileName is a step's id as the name of a file on every system.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, id)
}
