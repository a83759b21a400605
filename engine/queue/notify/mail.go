package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// mail sends one message to all addresses of the target. smtps:// uses TLS from the first byte; smtp:// requires
// STARTTLS; smtp://HOST?tls=none uses neither, and then takes no password.
func (s *Sender) mail(ctx context.Context, t engine.AlertTarget, a *queue.Alert) *Failure {
	u, failure := s.address(t.Server)
	if failure != nil {
		return failure
	}
	options, failure := s.mailOptions(u)
	if failure != nil {
		return failure
	}
	m, err := message(t, a)
	if err != nil {
		return failf("the message cannot be made: %v", err)
	}
	client, err := mail.NewClient(u.Hostname(), options...)
	if err == nil {
		err = client.DialAndSendWithContext(ctx, m)
	}
	if err != nil && !m.IsDelivered() { // else the server has it, and only did not say goodbye
		return failf("%s", without(err.Error(), u))
	}
	return nil
}

func (s *Sender) mailOptions(u *url.URL) ([]mail.Option, *Failure) {
	config := &tls.Config{}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.ServerName, config.MinVersion = u.Hostname(), tls.VersionTLS12
	options := []mail.Option{mail.WithTLSConfig(config), mail.WithTimeout(Limit)}
	port, none := 587, u.Query().Get("tls") == "none"
	switch {
	case u.Scheme == "smtps":
		port = 465
		options = append(options, mail.WithSSL())
	case u.Scheme != "smtp":
		return nil, failf("the server's address begins neither with smtps:// nor with smtp://")
	case none && u.User != nil:
		return nil, failf("a password is not sent without TLS: leave out tls=none")
	case none:
		port = 25
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if text := u.Port(); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, failf("the server's port is no number")
		}
		port = n
	}
	options = append(options, mail.WithPort(port))
	if u.User != nil {
		password, _ := u.User.Password()
		options = append(options, mail.WithUsername(u.User.Username()), mail.WithPassword(password),
			mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover))
	}
	return options, nil
}

// message makes the mail. Text of a notebook is in the subject and the body only: in one line, encoded, and cut.
func message(t engine.AlertTarget, a *queue.Alert) (*mail.Msg, error) {
	m := mail.NewMsg()
	if err := errors.Join(m.From(t.From), m.To(t.Mail...)); err != nil {
		return nil, err
	}
	subject := headline(a)
	if len(subject) > 200 {
		subject = strings.ToValidUTF8(subject[:200], "") + "…"
	}
	m.Subject(subject)
	m.SetDateWithValue(a.Time)
	m.SetMessageIDWithValue(a.ID + "@markmill.invalid")
	m.SetGenHeader("X-Markmill-Alert", a.ID)
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	text, err := codec.Indent(document(a))
	if err != nil {
		return nil, err
	}
	run := string(a.Run)
	if a.Job != "" {
		run = "none, of job " + a.Job
	}
	m.SetBodyString(mail.TypeTextPlain, fmt.Sprintf("%s\n\nNotebook: %s\nProject: %s\nRun: %s\nTime: %s\n"+
		"Alert: %s\n\n%s", headline(a), oneLine(a.Notebook), oneLine(cmp.Or(a.Project, "-")), run,
		a.Time.Format(time.RFC3339), a.ID, text))
	return m, nil
}

// without returns a text without the secret parts of an address.
func without(text string, u *url.URL) string {
	hide := []string{u.User.Username()}
	if password, set := u.User.Password(); set {
		hide = append(hide, password)
	}
	for _, secret := range hide {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}
