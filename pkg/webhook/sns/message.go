package sns

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// ErrFormat is wrapped when a body is not a message of SNS.
var ErrFormat = errors.New("not a message of Amazon SNS")

// The types of messages.
const (
	TypeNotification = "Notification"
	TypeSubscription = "SubscriptionConfirmation"
	TypeUnsubscribed = "UnsubscribeConfirmation"
)

// Message is the body of a request of SNS.
type Message struct {
	Type, MessageID, TopicARN, Timestamp            string
	Message, Subject                                string
	Token, SubscribeURL                             string // Of confirmations.
	SignatureVersion, Signature, SigningCertificate string

	hasSubject bool
}

// maxMessage bounds a message in bytes. SNS sends 256 KiB, which escapes make longer.
const maxMessage = 1 << 20

// maxDepth is the nesting depth of fields that Parse ignores.
const maxDepth = 120

// Parse reads the texts of a message, and builds nothing else: no signature is known yet. It reads JSON as templates do, names in
// their exact case and the last of duplicates, because the signature must cover what a template sees. The error wraps ErrFormat.
func Parse(text string) (Message, error) {
	if len(text) > maxMessage {
		return Message{}, fmt.Errorf("%w: the body is longer than %d bytes", ErrFormat, maxMessage)
	}
	var m Message
	fields := []field{
		{name: "Type", into: &m.Type, required: true},
		{name: "MessageId", into: &m.MessageID, required: true},
		{name: "TopicArn", into: &m.TopicARN, required: true},
		{name: "Timestamp", into: &m.Timestamp, required: true},
		{name: "Message", into: &m.Message, required: true},
		{name: "Subject", into: &m.Subject},
		{name: "Token", into: &m.Token},
		{name: "SubscribeURL", into: &m.SubscribeURL},
		{name: "SignatureVersion", into: &m.SignatureVersion, required: true},
		{name: "Signature", into: &m.Signature, required: true},
		{name: "SigningCertURL", into: &m.SigningCertificate, required: true},
	}
	l := jsontoken.Lexer{Data: []byte(text), MaxDepth: maxDepth}
	if l.Peek() != '{' {
		return Message{}, fmt.Errorf("%w: the body is not a JSON object", ErrFormat)
	}
	l.Members(func(key []byte) {
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == string(key) })
		if at < 0 {
			l.Skip()
			return
		}
		fields[at].read(&l)
	})
	if l.End(); l.Stopped() {
		return Message{}, fmt.Errorf("%w: the body is not JSON", ErrFormat)
	}
	for _, f := range fields {
		if f.kind == kindOther || f.kind == kindAbsent && f.required {
			return Message{}, fmt.Errorf("%w: %s is not a string", ErrFormat, f.name)
		}
		m.hasSubject = m.hasSubject || f.kind == kindText && f.name == "Subject"
	}
	switch m.Type {
	case TypeNotification, TypeSubscription, TypeUnsubscribed:
		return m, nil
	}
	return Message{}, fmt.Errorf("%w: unknown Type", ErrFormat)
}

// Content returns the signed text: the names and values of the signed fields, a line each, in alphabetical order.
func (m Message) Content() string {
	fields := []string{"Message", m.Message, "MessageId", m.MessageID}
	if m.Type == TypeNotification {
		if m.hasSubject {
			fields = append(fields, "Subject", m.Subject)
		}
		fields = append(fields, "Timestamp", m.Timestamp)
	} else {
		fields = append(fields, "SubscribeURL", m.SubscribeURL, "Timestamp", m.Timestamp, "Token", m.Token)
	}
	return strings.Join(append(fields, "TopicArn", m.TopicARN, "Type", m.Type), "\n") + "\n"
}

// field is one text of a message.
type field struct {
	name     string
	into     *string
	required bool
	kind     kind
}

// kind is what a message has for a field.
type kind int

const (
	kindAbsent kind = iota // Or null.
	kindText
	kindOther
)

// read takes the value of the field.
func (f *field) read(l *jsontoken.Lexer) {
	*f.into, f.kind = "", kindOther
	switch l.Peek() {
	case '"':
		*f.into, f.kind = string(l.Text()), kindText
	case 'n':
		l.Literal("null")
		f.kind = kindAbsent
	default:
		l.Skip()
	}
}
