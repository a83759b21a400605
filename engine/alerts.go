package engine

import (
	"cmp"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/expr"
	"markmill/notebooks/lazyregexp"
	"markmill/runs"
)

// AlertTarget is somebody who can be told of alerts; one of Webhook, Slack, Mail and Exec is set. An address that holds
// a secret is the name of a variable of the environment, as ${NAME}.
type AlertTarget struct {
	Webhook string   `yaml:"webhook" json:"webhook,omitzero"` // URL that gets the alert as JSON
	Slack   string   `yaml:"slack" json:"slack,omitzero"`     // URL of an incoming webhook of Slack's, or one like it
	Mail    []string `yaml:"mail" json:"mail,omitempty"`      // addresses
	From    string   `yaml:"from" json:"from,omitzero"`       // of Mail
	Server  string   `yaml:"server" json:"server,omitzero"`   // of Mail: smtps://, or smtp:// with STARTTLS
	Exec    []string `yaml:"exec" json:"exec,omitempty"`      // absolute path of a program, and its arguments
}

var variable = lazyregexp.New(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// Variable is the name in ${NAME}; "" for any other text.
func Variable(text string) string {
	if found := variable.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// checkTargets returns an error for a target that cannot be told anything.
func checkTargets(file string, targets map[string]AlertTarget) error {
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if msg, hint := targets[name].wrong(); msg != "" || notebooks.Slug(name) != name {
			if msg == "" {
				msg, hint = "is no name of a target", "use letters, digits and -"
			}
			return &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: fmt.Sprintf("alerts: %s: %s", name,
				msg),
				Hint: hint}
		}
	}
	return nil
}

func (t AlertTarget) wrong() (msg, hint string) {
	kinds := 0
	for _, is := range []bool{t.Webhook != "", t.Slack != "", len(t.Mail) > 0, len(t.Exec) > 0} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return "expected one of webhook, slack, mail and exec", "such as webhook: ${OPS_URL}"
	case len(t.Mail) == 0 && t.From+t.Server != "":
		return "from and server are of mail", "write mail: [ADDRESS]"
	case len(t.Mail) > 0 && (t.From == "" || t.Server == ""):
		return "mail needs from and server", "such as from: markmill@example.org, server: ${SMTP_URL}"
	case len(t.Exec) > 0 && !filepath.IsAbs(t.Exec[0]):
		return fmt.Sprintf("exec: %q is not absolute", t.Exec[0]), "write the path of the program, and its arguments"
	case t.Slack != "" && Variable(t.Slack) == "":
		return "slack: the address is a secret", "write slack: ${NAME}, and the address in the variable NAME"
	}
	for _, address := range append(slices.Clone(t.Mail), t.From) {
		if _, err := mail.ParseAddress(address); err != nil && address != "" {
			return fmt.Sprintf("%q is no mail address", address), "such as ops@example.org"
		}
	}
	for text, schemes := range map[string][]string{t.Webhook: {"https", "http"}, t.Server: {"smtps", "smtp"}} {
		if text == "" || Variable(text) != "" {
			continue
		}
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme):
			return "an address was expected that begins with " + strings.Join(schemes, ":// or ") + "://",
				"or ${NAME}, with the address in the variable NAME"
		case u.User != nil:
			return "a password does not belong into a file of the repository", "write ${NAME}, and the address in " +
				"the variable NAME"
		}
	}
	return "", ""
}

// alerts reports whether somebody is to be told how the run went. Runs within runs, and rows of sweeps, are no
// observations of their own.
func (p *Plan) alerts() bool {
	return p.request.Observed && p.notebook.Front.Alerts != nil && p.depth == 0 && p.request.Sweep == nil
}

// unknownTargets are warnings: a notebook also runs where nobody can be told.
func (p *Plan) unknownTargets(e *Engine) (warnings []*notebooks.Error) {
	if p.notebook.Front.Alerts == nil {
		return nil
	}
	known := slices.Sorted(maps.Keys(e.Config.Alerts))
	for _, name := range p.notebook.Front.Alerts.To {
		if !slices.Contains(known, name) {
			hint := cmp.Or(notebooks.DidYouMean(name, known), "write alerts: {"+name+": {webhook: …}} there")
			warnings = append(warnings, &notebooks.Error{Kind: notebooks.KindOption, File: p.request.Path, Line: 1,
				Msg: fmt.Sprintf("alerts: to: %q is no target of %s here", name, ConfigFile), Hint: hint})
		}
	}
	return warnings
}

// ScopeOf is what an expression sees of a run that has ended.
func ScopeOf(run *runs.Run) expr.Scope {
	s := expr.Scope{Params: map[string]any{}, Scraps: map[string]any{}, Steps: map[string]bool{}}
	for _, p := range run.Contract.Parameters {
		if v, err := notebooks.ParseWire(p.Value); err == nil && p.Type != "secret" {
			s.Params[p.Name] = v.Native()
		}
	}
	for _, scrap := range run.Scraps() {
		if v, ok := scrapValue(scrap); ok {
			s.Scraps[scrap.Name] = v
		}
	}
	for i := range run.Steps {
		s.Steps[string(run.Steps[i].Planned.ID)] = run.Steps[i].Status() == runs.StepPassed
	}
	return s
}

// remembered marks the run in its store as one whose alerts are to be sent, and that is kept for objectives.
func (r *run) remembered(store runs.Store) (err error) {
	if r.plan.alerts() {
		err = store.AwaitAlerts(r.id)
	}
	front, age := r.plan.notebook.Front, time.Duration(0)
	if front.Objectives != nil {
		age = front.Objectives.Window
	}
	checks := slices.ContainsFunc(r.plan.steps, func(s PlannedStep) bool { return s.Has(notebooks.TagHealth) })
	if err == nil && r.plan.request.Observed && (age > 0 || checks) {
		err = store.KeepHistory(r.id, max(age, notebooks.DefaultWindow))
	}
	return err
}
