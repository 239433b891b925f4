package sns

import (
	"errors"
	"fmt"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
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

// Parse reads a message. It reads JSON as templates do, names in their exact case and the last of duplicates: the signature
// must cover what a template sees. The error wraps ErrFormat.
func Parse(text string) (Message, error) {
	value, err := jsontree.EventLimits().Parse(text)
	if err != nil {
		return Message{}, fmt.Errorf("%w: the body is not JSON", ErrFormat)
	}
	object, ok := value.(*jsontree.Object)
	if !ok {
		return Message{}, fmt.Errorf("%w: the body is not a JSON object", ErrFormat)
	}
	var m Message
	for _, field := range []struct {
		name     string
		into     *string
		required bool
	}{
		{"Type", &m.Type, true},
		{"MessageId", &m.MessageID, true},
		{"TopicArn", &m.TopicARN, true},
		{"Timestamp", &m.Timestamp, true},
		{"Message", &m.Message, true},
		{"Subject", &m.Subject, false},
		{"Token", &m.Token, false},
		{"SubscribeURL", &m.SubscribeURL, false},
		{"SignatureVersion", &m.SignatureVersion, true},
		{"Signature", &m.Signature, true},
		{"SigningCertURL", &m.SigningCertificate, true},
	} {
		value, _ := object.Get(field.name)
		text, isText := value.(string)
		if value != nil && !isText || value == nil && field.required {
			return Message{}, fmt.Errorf("%w: %s is not a string", ErrFormat, field.name)
		}
		*field.into = text
		m.hasSubject = m.hasSubject || isText && field.name == "Subject"
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
