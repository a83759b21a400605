package api

import (
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// Inspected is what markmill check --show --json prints of a notebook.
type Inspected struct {
	Notebook    string           `json:"notebook"`
	Form        string           `json:"form"`
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Parameters  []InspectedParam `json:"parameters"`
	Steps       []InspectedStep  `json:"steps"`
	Gates       InspectedGates   `json:"gates"`
}

// InspectedParam is a parameter of a notebook.
type InspectedParam struct {
	Name     string      `json:"name"`
	Type     string      `json:"type"`
	Default  codec.Raw   `json:"default,omitzero"`
	Source   string      `json:"default_source,omitzero"` // as written, where it is code
	Required bool        `json:"required"`
	Help     string      `json:"help,omitzero"`
	Enum     []codec.Raw `json:"enum,omitempty"`
	Min      codec.Raw   `json:"min,omitzero"`
	Max      codec.Raw   `json:"max,omitzero"`
	Env      string      `json:"env,omitzero"`
	Line     int         `json:"line"`
}

// InspectedStep is a step of a notebook.
type InspectedStep struct {
	ID      string   `json:"id"`
	Lang    string   `json:"lang"`
	Line    int      `json:"line"`
	Tags    []string `json:"tags,omitempty"`
	Needs   []string `json:"needs,omitempty"`
	If      string   `json:"if,omitzero"`
	Timeout float64  `json:"timeout,omitzero"` // seconds
	Retries int      `json:"retries,omitzero"`
	Exit    *int     `json:"expect_exit,omitempty"`
	Session string   `json:"kernel,omitzero"`
	Cwd     string   `json:"cwd,omitzero"`
	Code    string   `json:"code"`
}

// InspectedGates are the limits under which a notebook runs.
type InspectedGates struct {
	Allow     []string `json:"allow,omitempty"`
	Forbid    []string `json:"forbid,omitempty"`
	Require   []string `json:"require,omitempty"`
	Approval  string   `json:"approval,omitzero"`
	Mode      string   `json:"mode,omitzero"`
	Risk      string   `json:"risk,omitzero"`
	Files     int      `json:"limit_files,omitzero"`
	Lines     int      `json:"limit_lines,omitzero"`
	Bytes     int64    `json:"limit_bytes,omitzero"`
	Sandbox   string   `json:"sandbox,omitzero"`
	Network   string   `json:"network,omitzero"`
	Processes string   `json:"processes,omitzero"`
	// Narrowed says who restricts what: the policy of the repository, or the notebook.
	Narrowed []runs.NarrowedData `json:"narrowed,omitempty"`
}

// NewInspected makes the document of a notebook. narrowed says who restricts what.
func NewInspected(nb *notebooks.Notebook, narrowed []runs.NarrowedData) Inspected {
	f := nb.Front
	out := Inspected{Notebook: nb.Name, Form: string(nb.Form), Title: f.Title, Description: f.Description,
		Parameters: []InspectedParam{}, Steps: []InspectedStep{},
		Gates: InspectedGates{Allow: f.Allow, Forbid: f.Forbid, Require: f.Require, Approval: f.Approval,
			Mode: f.Mode, Risk: f.Risk, Files: f.Limits.Files, Lines: f.Limits.Lines, Bytes: f.Limits.Bytes,
			Sandbox: f.Sandbox, Network: f.Network, Processes: f.Processes, Narrowed: narrowed}}
	for _, p := range nb.Params {
		param := InspectedParam{Name: p.Name, Type: string(p.Type), Source: p.DefaultSrc, Required: p.Required,
			Help: p.Help, Env: p.Env, Line: p.Line}
		if p.Declared != "" {
			param.Type = p.Declared
		}
		if p.HasDefault {
			param.Default = p.Default.JSON()
		}
		for _, v := range p.Enum {
			param.Enum = append(param.Enum, v.JSON())
		}
		if p.Min != nil {
			param.Min = p.Min.JSON()
		}
		if p.Max != nil {
			param.Max = p.Max.JSON()
		}
		out.Parameters = append(out.Parameters, param)
	}
	for _, s := range nb.Steps {
		step := InspectedStep{ID: string(s.ID), Lang: s.Lang, Line: s.Line, Tags: s.Tags, If: s.If,
			Timeout: s.Timeout.Seconds(), Retries: s.Retries, Exit: s.ExpectExit,
			Session: s.Kernel, Cwd: s.Cwd, Code: string(s.Code)}
		for _, n := range s.Needs {
			step.Needs = append(step.Needs, string(n))
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}
