package diff

import "markmill/notebooks/codec"

// Diff is what two documents differ in. As JSON it is the schema of docs/review.md.
type Diff struct {
	Old, New *Document `json:"-"`

	Same    bool           `json:"same"`
	Status  *WordChange    `json:"status,omitempty"`
	Results []ResultChange `json:"results,omitempty"` // what turned red first
	Params  []ValueChange  `json:"parameters,omitempty"`
	Options []ValueChange  `json:"options,omitempty"`
	Counts  Counts         `json:"counts"` // of steps
	Prose   Counts         `json:"prose"`  // of the texts between them
	Cells   []CellChange   `json:"cells"`  // every cell of both sides, in the order of B; removed ones where they stood
	Scraps  []ScrapChange  `json:"scraps,omitempty"`
	Files   []FileChange   `json:"worktree,omitempty"`
	Outputs []OutputChange `json:"outputs,omitempty"`
}

// Counts counts cells by what became of them. A cell can be moved, renamed and edited at once.
type Counts struct {
	Same     int `json:"same"`
	Added    int `json:"added"`
	Removed  int `json:"removed"`
	Moved    int `json:"moved"`
	Renamed  int `json:"renamed"`
	Edited   int `json:"edited"`
	Replaced int `json:"replaced"`
	Split    int `json:"split"`
	Joined   int `json:"joined"`
}

// What says what became of something.
type What string

const (
	Same     What = "same"
	Added    What = "added"
	Removed  What = "removed"
	Edited   What = "edited"
	Replaced What = "replaced" // the id stayed, and the text is another
	Split    What = "split"    // into this cell and Parts, of B
	Joined   What = "joined"   // of this cell and Parts, of A
	Part     What = "part"     // of the split or joined cell that Of names
)

// WordChange is one word that became another; "" if there is none.
type WordChange struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// ValueChange is a named value that changed. Old is nil for one that was added, New for one that was removed.
type ValueChange struct {
	Name string    `json:"name"`
	Old  codec.Raw `json:"old,omitzero"`
	New  codec.Raw `json:"new,omitzero"`
}

// Ref names a cell of one side.
type Ref struct {
	Place int    `json:"place"`         // among the cells, from 0
	Label string `json:"label"`         // its id, or a substitute
	Line  int    `json:"line,omitzero"` // of the file, from 1
}

// ResultChange is a step that ended in another way. Was or Now is "" where it did not run or is not there.
type ResultChange struct {
	Step     string `json:"step"`
	Cell     int    `json:"-"` // place of the step in Diff.Cells
	Test     bool   `json:"test"`
	Was      string `json:"was"`
	Now      string `json:"now"`
	WasWords string `json:"was_words,omitzero"`
	NowWords string `json:"now_words,omitzero"`
	WasTests *Tests `json:"was_tests,omitempty"`
	NowTests *Tests `json:"now_tests,omitempty"`
	Turned   Turn   `json:"turned,omitzero"`
}

// Turn is the direction of a result.
type Turn string

const (
	Red   Turn = "red"   // it passed, and does not now
	Green Turn = "green" // it did not pass, and does now
)

// CellChange is what became of one cell.
type CellChange struct {
	What    What     `json:"what"`
	Moved   bool     `json:"moved,omitzero"`
	Renamed bool     `json:"renamed,omitzero"`
	By      By       `json:"by,omitzero"` // why the two are the same
	Kind    CellKind `json:"kind"`
	A       *Ref     `json:"a,omitempty"`
	B       *Ref     `json:"b,omitempty"`
	Parts   []Ref    `json:"parts,omitempty"`
	Of      *Ref     `json:"of,omitempty"`
	// Source is nil where the text is the same, or one side has none. Of a cell that was split or joined it compares
	// all of the parts, in their order, and so shows only what else changed.
	Source  *Text         `json:"source,omitempty"`
	Lang    *WordChange   `json:"language,omitempty"`
	Tags    *TagsChange   `json:"tags,omitempty"`
	Options []ValueChange `json:"options,omitempty"`
	Count   *WordChange   `json:"execution_count,omitempty"` // with Options.All only
	Took    *WordChange   `json:"took,omitempty"`            // with Options.All only

	Old, New *Cell `json:"-"`
}

// TagsChange is the tags that came and went.
type TagsChange struct {
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// ScrapChange is a recorded value that changed.
type ScrapChange struct {
	Step string    `json:"step"`
	Cell int       `json:"-"` // place of the step in Diff.Cells
	Name string    `json:"name"`
	Type string    `json:"type"`
	What What      `json:"what"` // added, removed, edited
	Old  codec.Raw `json:"old,omitzero"`
	New  codec.Raw `json:"new,omitzero"`
	// Difference and Relative (to the old value) are of two numbers; Relative is absent where the old one is 0. Of two
	// values that differ in numbers only, Relative is the greatest.
	Difference *float64 `json:"difference,omitempty"`
	Relative   *float64 `json:"relative,omitempty"`
	Within     bool     `json:"within_tolerance"`
	Text       *Text    `json:"text,omitempty"` // of values with more than one line
	// Values are the single values that changed inside a table, a list or a map, each with its place; absent where
	// there are too many.
	Values    []CellValue `json:"values,omitempty"`
	OldDigest string      `json:"old_digest,omitzero"`
	NewDigest string      `json:"new_digest,omitzero"`
}

// FileChange is a file whose change, made by a step, is another.
type FileChange struct {
	Step string `json:"step"`
	Cell int    `json:"-"` // place of the step in Diff.Cells
	Path string `json:"path"`
	// added: only B changes it; removed: only A does; edited: both do, and not in the same way
	What What        `json:"what"`
	Kind *WordChange `json:"kind,omitempty"` // added, modified, …
	Text *Text       `json:"text,omitempty"` // of the two patches: each line has the mark of its own patch
	Old  *FilePatch  `json:"-"`
	New  *FilePatch  `json:"-"`
}

// OutputChange is something printed or shown that came, went or is another.
type OutputChange struct {
	Step    string        `json:"step"`
	Cell    int           `json:"-"`    // place of the step in Diff.Cells
	Name    string        `json:"name"` // stdout, stderr, error, result
	What    What          `json:"what"` // added, removed, edited
	Data    []DatumChange `json:"data"`
	Options []ValueChange `json:"options,omitempty"`
	Old     *Output       `json:"-"`
	New     *Output       `json:"-"`
}

// DatumChange is one representation of an output.
type DatumChange struct {
	MIME      string `json:"mime"`
	What      What   `json:"what"`
	Text      *Text  `json:"text,omitempty"` // of texts
	OldDigest string `json:"old_digest,omitzero"`
	NewDigest string `json:"new_digest,omitzero"`
	Old       *Datum `json:"-"`
	New       *Datum `json:"-"`
}
