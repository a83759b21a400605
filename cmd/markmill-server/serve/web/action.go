package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"markmill/cmd/internal/child"
)

// action makes the arguments of the command that a form asks for.
type action func(id string, form url.Values) (args []string, err error)

// reason is the reason of an action, which each has in the record.
func reason(form url.Values) (string, error) {
	words := strings.TrimSpace(form.Get("reason"))
	if words == "" {
		return "", problem("give a reason: it goes into the record")
	}
	return words, nil
}

// withReason is an action that takes a reason.
func withReason(words ...string) action {
	return func(id string, form url.Values) ([]string, error) {
		why, err := reason(form)
		return append(append([]string{}, words...), "--reason="+why, "--", id), err
	}
}

var (
	abortRun  = withReason("runs", "abort")
	rejectRun = withReason("runs", "reject")
	denyRun   = withReason("deny")
)

func steerRun(id string, form url.Values) ([]string, error) {
	words := strings.TrimSpace(form.Get("text"))
	if words == "" {
		return nil, problem("say something to the agent")
	}
	return []string{"runs", "steer", "--", id, words}, nil
}

func applyRun(id string, _ url.Values) ([]string, error) {
	return []string{"apply", "--", id}, nil
}

func approveRun(id string, form url.Values) ([]string, error) {
	return []string{"approve", "--comment=" + strings.TrimSpace(form.Get("reason")), "--", id}, nil
}

// do runs the command of an action. options follow the first two words of its arguments.
func (s *server) do(ctx context.Context, id string, form url.Values, a action, options []string) error {
	args, err := a(id, form)
	if err != nil {
		return err
	}
	if len(options) > 0 {
		args = append(append(append([]string{}, args[:2]...), options...), args[2:]...)
	}
	code, words, err := s.program.Do(ctx, child.Call{Args: args, To: &child.Most{}})
	if err == nil && code != 0 {
		err = child.Said(code, words)
	}
	return err
}

// act does what a form of a run's page asks for, and shows the run. names are the fields of the form.
func (s *server) act(a action, names ...string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if _, err := s.find(r); err != nil {
			return err
		}
		form, err := fields(r, names)
		if err == nil {
			err = s.do(r.Context(), id, form, a, nil)
		}
		if err != nil {
			return refused(http.StatusConflict, err)
		}
		return done(w, r, "/runs/"+id, http.StatusOK, map[string]string{"run_id": id})
	}
}

// fork goes on from a step of a run, as a new run.
func (s *server) fork(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.find(r); err != nil {
		return err
	}
	args := []string{"resume"}
	if step := r.PostForm.Get("step"); step != "" {
		args = append(args, "--at="+step)
	}
	id, err := s.spawn(r.Context(), append(args, "--events=-", "--", r.PathValue("id")))
	if err != nil {
		return refused(http.StatusConflict, err)
	}
	return done(w, r, "/runs/"+string(id), http.StatusCreated, nil)
}

// address makes an address that another browser can sign in with.
func (s *server) address(w http.ResponseWriter, r *http.Request) error {
	if s.auth.tokens != nil {
		return refused(http.StatusConflict, problem("people sign in with their tokens here: "+
			"markmill serve token NAME --tokens %s makes one", s.Tokens))
	}
	granted, err := parseRole(r.PostForm.Get("role"))
	if err != nil {
		return refused(http.StatusBadRequest, err)
	}
	return s.page(w, r, "notice", "Another browser", notice{Words: "This address signs one browser in, once, with " +
		"the role " + granted.String() + ": " + s.auth.newAddress(min(granted, sessionOf(r).role))})
}
