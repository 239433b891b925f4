// Package vocabulary builds every name that the server itself says: event names, resource ids, labels, headers.
//
// One setting chooses the words for the whole process. With [Orch] a finished run is "orch.flow-run.Completed" and
// its resource "orch.flow-run.<id>"; with [Prefect] the same names are spelled as existing clients know them, so that
// they work unchanged. Nothing is translated at run time: names are stored as they were said, hence the setting is
// written into the data at the first start and a mismatch is refused.
//
// No other package spells these names; a test greps the tree for stray ones.
package vocabulary

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Vocabulary is the server's choice of words. The zero value is Orch.
type Vocabulary struct {
	prefect bool
}

// The two vocabularies.
var (
	Orch    = Vocabulary{}
	Prefect = Vocabulary{prefect: true}
)

// Parse reads a setting, "orch" or "prefect"; an empty one is "orch".
func Parse(setting string) (Vocabulary, error) {
	switch setting {
	case "", "orch":
		return Orch, nil
	case "prefect":
		return Prefect, nil
	}
	return Vocabulary{}, fmt.Errorf("read the vocabulary %q: neither orch nor prefect", setting)
}

// String returns the setting's own spelling.
func (v Vocabulary) String() string {
	if v.prefect {
		return "prefect"
	}
	return "orch"
}

// UnmarshalText lets configuration read the setting.
func (v *Vocabulary) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (v Vocabulary) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Name prefixes a name of the server: Name("flow-run", "Completed") is "orch.flow-run.Completed".
func (v Vocabulary) Name(parts ...string) string { return join(v.String(), parts) }

// CloudName prefixes a name of the hosted form: CloudName("webhook", "failed") is "orch-cloud.webhook.failed".
func (v Vocabulary) CloudName(parts ...string) string { return join(v.String()+"-cloud", parts) }

func join(prefix string, parts []string) string {
	n := len(prefix)
	for _, p := range parts {
		n += 1 + len(p)
	}
	out := append(make([]byte, 0, n), prefix...)
	for _, p := range parts {
		out = append(append(out, '.'), p...)
	}
	return string(out)
}

// labels are those of resources, which are asked for several times with each event.
type labels struct{ id, name, role string }

var orchLabels, prefectLabels = Orch.labels(), Prefect.labels()

func (v Vocabulary) labels() *labels {
	return &labels{id: v.Name("resource", "id"), name: v.Name("resource", "name"), role: v.Name("resource", "role")}
}

func (v Vocabulary) resource() *labels {
	if v.prefect {
		return prefectLabels
	}
	return orchLabels
}

// ResourceID is the label that every resource of an event must have.
func (v Vocabulary) ResourceID() string { return v.resource().id }

// ResourceName is the label of a resource's name.
func (v Vocabulary) ResourceName() string { return v.resource().name }

// ResourceRole is the label that every related resource must have.
func (v Vocabulary) ResourceRole() string { return v.resource().role }

// KindKey is the key that marks a parameter's value as one to be hydrated.
func (v Vocabulary) KindKey() string { return "__" + v.String() + "_kind" }

// The API's version, and the oldest that a client may ask for.
const (
	APIVersion        = "0.8.4"
	APIVersionMinimum = "0.8.0"
)

// VersionHeaders are the spellings of the header in which a client names the version it speaks; both are always read.
func VersionHeaders() []string { return []string{"X-ORCH-API-VERSION", "X-PREFECT-API-VERSION"} }

// VersionHeader is the spelling that the server itself uses.
func (v Vocabulary) VersionHeader() string {
	if v.prefect {
		return VersionHeaders()[1]
	}
	return VersionHeaders()[0]
}

// ClientVersion returns the version header of a request in either spelling, empty when it has none.
func ClientVersion(header http.Header) string {
	for _, name := range VersionHeaders() {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// Automation returns the id and the name of the automation that a request says it is made by, in either spelling of the
// headers. It says so in full or not at all: the id is a UUID, the name is text in base64.
func Automation(header http.Header) (id uuid.UUID, name string, ok bool) {
	for _, prefix := range []string{"Orch", "Prefect"} {
		id, err := uuid.Parse(header.Get(prefix + "-Automation-Id"))
		if err != nil {
			continue
		}
		name, err := base64.StdEncoding.DecodeString(header.Get(prefix + "-Automation-Name"))
		if err == nil && len(name) > 0 && utf8.Valid(name) {
			return id, string(name), true
		}
	}
	return uuid.Nil, "", false
}

// Subprotocols are the websocket subprotocols that a client may offer; the offered one is echoed.
func Subprotocols() []string { return []string{Orch.String(), Prefect.String()} }

// ServerVersion is the version that clients compare with their own: the server's, or the one whose API it speaks.
func (v Vocabulary) ServerVersion(own string) string {
	if v.prefect {
		return "3.8.8"
	}
	return own
}

// ForeignAgent tells whether a client with this User-Agent expects the other vocabulary.
func (v Vocabulary) ForeignAgent(userAgent string) bool {
	const agent = "prefect/"
	return !v.prefect && len(userAgent) > len(agent) && userAgent[:len(agent)] == agent
}

// UserKeyPrefix begins the API keys of users.
func (v Vocabulary) UserKeyPrefix() string { return v.String()[:1] + "nu_" }

// BotKeyPrefix begins the API keys of service accounts.
func (v Vocabulary) BotKeyPrefix() string { return v.String()[:1] + "nb_" }
