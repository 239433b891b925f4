package action

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// Mailer sends mail through one SMTP server. The zero value is not configured and sends nothing.
type Mailer struct {
	address  string // host:port.
	host     string
	implicit bool // TLS from the first byte; else STARTTLS where the server offers it.
	starttls bool // The server must offer STARTTLS.
	auth     smtp.Auth
	from     *mail.Address
}

// The ports of smtp: and smtps: addresses without one (RFC 6409, RFC 8314).
const (
	submissionPort  = "587"
	submissionsPort = "465"
)

// ParseMailer reads the address of an SMTP server, smtp://user:password@host:587, smtp+starttls://host or smtps://host, and the
// sender's address.
// An empty server gives a mailer that is not configured. Errors do not quote the address, which may hold a password.
func ParseMailer(server, from string) (Mailer, error) {
	if server == "" {
		return Mailer{}, nil
	}
	target, err := url.Parse(server)
	if err != nil || target.Hostname() == "" || !slices.Contains([]string{"smtp", "smtp+starttls", "smtps"}, target.Scheme) {
		return Mailer{}, errors.New("must be smtp://host:port, smtp+starttls://host:port or smtps://host:port, optionally with user:password@")
	}
	sender, err := mail.ParseAddress(from)
	if err != nil {
		return Mailer{}, errors.New("the sender is not an email address")
	}
	m := Mailer{host: target.Hostname(), implicit: target.Scheme == "smtps", starttls: target.Scheme == "smtp+starttls", from: sender}
	port := target.Port()
	if port == "" {
		port = submissionPort
		if m.implicit {
			port = submissionsPort
		}
	}
	m.address = net.JoinHostPort(m.host, port)
	if password, ok := target.User.Password(); ok {
		m.auth = smtp.PlainAuth("", target.User.Username(), password, m.host)
	}
	return m, nil
}

// send sends one message to all recipients. The deadline of the context bounds the whole exchange.
func (m Mailer) send(ctx context.Context, to []string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, egress.Timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.address)
	if err != nil {
		return fmt.Errorf("connect to the SMTP server: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("connect to the SMTP server: %w", err)
	}
	secured := &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}
	if m.implicit {
		conn = tls.Client(conn, secured)
	}
	client, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return fmt.Errorf("greet the SMTP server: %w", err)
	}
	defer client.Close()
	offered, _ := client.Extension("STARTTLS")
	switch {
	case m.implicit:
	case m.starttls && !offered:
		return errNoTLS
	case offered:
		if err := client.StartTLS(secured); err != nil {
			return fmt.Errorf("start TLS with the SMTP server: %w", err)
		}
	}
	if m.auth != nil {
		if err := client.Auth(m.auth); err != nil {
			return fmt.Errorf("authenticate to the SMTP server: %w", err)
		}
	}
	if err := client.Mail(m.from.Address); err != nil {
		return fmt.Errorf("name the sender: %w", err)
	}
	for _, recipient := range to {
		if err := client.Rcpt(recipient); err != nil {
			return fmt.Errorf("name the recipient %s: %w", recipient, err)
		}
	}
	writer, err := client.Data()
	if err != nil {
		return fmt.Errorf("send the message: %w", err)
	}
	if _, err := writer.Write(content); err != nil {
		return fmt.Errorf("send the message: %w", err)
	}
	if err := writer.Close(); err != nil {
		return fmt.Errorf("send the message: %w", err)
	}
	_ = client.Quit() // The message is accepted; what happens to the connection does not matter.
	return nil
}

// errNoTLS reports a server that offers no STARTTLS, or somebody between who removed the offer.
var errNoTLS = errors.New("start TLS with the SMTP server: it does not offer STARTTLS, which smtp+starttls demands")

// compose writes a plain-text message (RFC 5322, RFC 2045). The id makes a message that is sent again recognizable.
func (m Mailer) compose(to []string, subject, body, id string, now time.Time) []byte {
	var b bytes.Buffer
	domain := m.from.Address[strings.LastIndex(m.from.Address, "@")+1:]
	recipients := make([]string, len(to))
	for i, address := range to {
		recipients[i] = (&mail.Address{Address: address}).String()
	}
	title := []rune(strings.Join(strings.Fields(subject), " "))
	for _, line := range [][2]string{
		{"From", m.from.String()},
		{"To", strings.Join(recipients, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", string(title[:min(len(title), subjectLimit)]))},
		{"Date", now.Format(time.RFC1123Z)},
		{"Message-ID", "<" + id + "@" + domain + ">"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(folded(line[0] + ": " + line[1]))
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(body)) // A buffer takes everything.
	_ = w.Close()
	b.WriteString("\r\n")
	return b.Bytes()
}

// The limits of a header line in bytes (RFC 5322, section 2.1.1), and of a subject in characters. A subject without spaces
// cannot be folded, so its limit stays below the 998 bytes that a line may have.
const (
	foldAt       = 78
	subjectLimit = 900
)

// folded is a header field on lines of foldAt bytes at most, where its spaces permit.
func folded(field string) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Split(field, " ") {
		switch {
		case i == 0:
		case i > 1 && line+1+len(word) > foldAt:
			b.WriteString("\r\n ")
			line = 1
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String() + "\r\n"
}

// email sends a text to email addresses.
func (r *Runner) email(ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, action *orchv1.SendEmailNotification) *result {
	if r.Mail.from == nil {
		return o.fail("The server has no SMTP server; the setting ORCH_SMTP_URL names it")
	}
	o.outside = true // Also a failure of this server, at a later attempt.
	to := make([]string, 0, len(action.GetEmails()))
	for _, text := range action.GetEmails() {
		address, err := mail.ParseAddress(text)
		if err != nil {
			return o.fail("%q is not an email address", text)
		}
		to = append(to, address.Address)
	}
	subject, body, ok := r.subjectAndBody(ctx, o, run, action.GetSubject(), action.GetBody())
	if !ok {
		return o
	}
	if !r.checkRecipients(ctx, o, ws, to, run.GetAttempts() <= 1) {
		return o
	}
	err := r.Mail.send(ctx, to, r.Mail.compose(to, subject, body, run.GetId(), r.Store.Now()))
	if err == nil {
		return o
	}
	r.Log.WarnContext(ctx, "failed to send mail", "automation", run.GetAutomation().GetId(), "error", err)
	problem, permanent := mailProblem(err)
	o.details["notification_log"] = problem
	if permanent {
		return o.fail("Notification failed")
	}
	return o.later(errors.New("Notification failed: " + problem))
}

// mailProblem returns what readers of events learn about an error, and whether another attempt meets it too. The error itself describes the
// operator's network: addresses, names, and replies that quote them.
func mailProblem(err error) (problem string, permanent bool) {
	if errors.Is(err, errNoTLS) {
		return err.Error(), true
	}
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return fmt.Sprintf("the SMTP server replied %d", reply.Code), reply.Code >= permanentSMTP
	}
	return "the exchange with the SMTP server failed", false
}

// permanentSMTP is the first reply code of refusals that another attempt meets too (RFC 5321, section 4.2.1).
const permanentSMTP = 500
