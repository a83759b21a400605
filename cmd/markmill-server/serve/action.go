package serve

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"markmill/cmd/markmill/child"
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
	return []string{"runs", "apply", "--", id}, nil
}

func approveRun(id string, form url.Values) ([]string, error) {
	return []string{"approve", "--comment=" + strings.TrimSpace(form.Get("reason")), "--", id}, nil
}

// do runs the command of an action.
func (s *server) do(ctx context.Context, id string, form url.Values, a action) error {
	args, err := a(id, form)
	if err != nil {
		return err
	}
	code, words, err := s.program.Do(ctx, child.Call{Args: args, To: &child.Most{}})
	if err == nil && code != 0 {
		err = child.Said(code, words)
	}
	return err
}

// act does what a form of a run's page asks for, and shows the run.
func (s *server) act(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		if _, ok := s.find(w, r); !ok {
			return
		}
		if err := s.do(r.Context(), id, r.PostForm, a); err != nil {
			s.failed(w, r, http.StatusConflict, err)
			return
		}
		http.Redirect(w, r, "/runs/"+id, http.StatusSeeOther)
	}
}

// fork goes on from a step of a run, as a new run.
func (s *server) fork(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.find(w, r); !ok {
		return
	}
	args := []string{"runs", "fork"}
	if step := r.PostForm.Get("step"); step != "" {
		args = append(args, "--at="+step)
	}
	s.begin(w, r, append(args, "--events=-", "--", r.PathValue("id")))
}

// address makes an address that another browser can sign in with.
func (s *server) address(w http.ResponseWriter, r *http.Request) {
	if s.guard.tokens != nil {
		s.failed(w, r, http.StatusConflict, problem("people sign in with their tokens here: "+
			"markmill serve token NAME --tokens %s makes one", s.Tokens))
		return
	}
	granted, err := parseRole(r.PostForm.Get("role"))
	if err != nil {
		s.failed(w, r, http.StatusBadRequest, err)
		return
	}
	s.page(w, r, "notice", "Another browser", notice{Words: "This address signs one browser in, once, with the role " +
		granted.String() + ": " + s.guard.invite(min(granted, of(r).role))})
}
