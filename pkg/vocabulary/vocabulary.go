// Package vocabulary builds every name that the server itself uses: event names, resource ids, labels, headers.
//
// One setting selects the vocabulary of the whole process. With [Orch] a finished run is "orch.flow-run.Completed" and
// its resource "orch.flow-run.<id>"; with [Prefect] the names are those that existing clients expect. Names are never
// translated at run time, because the store contains them. So the first start records the setting in the data, and a
// start with another setting fails. A [Conversion] rewrites the data of a stopped server. Fresh data of a single binary may
// be [Undecided]: its first client decides.
//
// No other package contains these names; a test searches the tree for them.
package vocabulary

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Vocabulary is the selected set of names. The zero value is Orch.
type Vocabulary struct {
	prefect, undecided bool
}

// The two vocabularies.
var (
	Orch    = Vocabulary{}
	Prefect = Vocabulary{prefect: true}
)

// Undecided is the vocabulary of fresh data until the first client that writes decides; see OfClient. It has the names of
// Orch, but nothing that contains a name may be stored meanwhile.
var Undecided = Vocabulary{undecided: true}

// undecided is the text of Undecided in data.
const undecided = "undecided"

// Decided reports whether names may be stored.
func (v Vocabulary) Decided() bool { return !v.undecided }

// Parse parses a setting, "orch" or "prefect"; an empty one is "orch".
func Parse(setting string) (Vocabulary, error) {
	switch setting {
	case "", "orch":
		return Orch, nil
	case "prefect":
		return Prefect, nil
	}
	if c, ok := ParseConversion(setting); ok {
		return Vocabulary{}, c.Err()
	}
	return Vocabulary{}, fmt.Errorf("parse vocabulary %q: neither orch nor prefect", setting)
}

// ParseStored parses the text of String that a server has written into its data.
func ParseStored(text string) (Vocabulary, error) {
	if text == undecided {
		return Undecided, nil
	}
	return Parse(text)
}

// String returns the setting, or "undecided".
func (v Vocabulary) String() string {
	if v.undecided {
		return undecided
	}
	return v.prefix()
}

// prefix begins the server's names.
func (v Vocabulary) prefix() string {
	if v.prefect {
		return "prefect"
	}
	return "orch"
}

// UnmarshalText parses the setting for package config.
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

// Name adds the server's prefix: Name("flow-run", "Completed") is "orch.flow-run.Completed".
func (v Vocabulary) Name(parts ...string) string { return join(v.prefix(), parts) }

// CloudName adds the prefix of the hosted form: CloudName("webhook", "failed") is "orch-cloud.webhook.failed".
func (v Vocabulary) CloudName(parts ...string) string { return join(v.prefix()+"-cloud", parts) }

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

// labels caches the labels of resources, which every event uses several times.
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

// ResourceID is the required id label of every resource in an event.
func (v Vocabulary) ResourceID() string { return v.resource().id }

// ResourceName is the label of a resource's name.
func (v Vocabulary) ResourceName() string { return v.resource().name }

// ResourceRole is the required role label of every related resource.
func (v Vocabulary) ResourceRole() string { return v.resource().role }

// KindKey is the key that marks a parameter value for hydration.
func (v Vocabulary) KindKey() string { return "__" + v.prefix() + "_kind" }

// The API's version, and the oldest supported one.
const (
	APIVersion        = "0.8.4"
	APIVersionMinimum = "0.8.0"
)

// VersionHeaders are the names of the client's version header in both vocabularies; the server reads both.
func VersionHeaders() []string { return []string{"X-ORCH-API-VERSION", "X-PREFECT-API-VERSION"} }

// VersionHeader is the name in the server's own vocabulary.
func (v Vocabulary) VersionHeader() string {
	if v.prefect {
		return VersionHeaders()[1]
	}
	return VersionHeaders()[0]
}

// ClientAPIVersion returns the version header of a request under either name, and that name. Both are empty without the header.
func ClientAPIVersion(header http.Header) (value, name string) {
	for _, name := range VersionHeaders() {
		if value := header.Get(name); value != "" {
			return value, name
		}
	}
	return "", ""
}

// Automation returns the id and the name of the automation that sends a request, from the headers of either vocabulary.
// Both headers are required: the id is a UUID, the name is text in base64.
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

// MaintenanceHeader is a header of 503 responses with the value "true": existing clients of version 3.3 and later then repeat the request
// until the server is there again, instead of a few times. Others ignore it.
const MaintenanceHeader = "Prefect-Maintenance"

// Subprotocols are the websocket subprotocols that a client may offer; the server echoes the offered one.
func Subprotocols() []string { return []string{Orch.String(), Prefect.String()} }

// ClientAuthSetting is the setting from which existing clients take the token of a websocket's auth message.
const ClientAuthSetting = "PREFECT_API_AUTH_STRING"

// ServerVersion is the version that clients compare with their own: the server's, or the version whose API it
// implements. Prefect's clients refuse another major version.
func (v Vocabulary) ServerVersion(own string) string {
	if v.prefect {
		return "3.9.1"
	}
	return own
}

// UserKeyPrefix is the prefix of users' API keys. The server accepts the keys of either vocabulary.
func (v Vocabulary) UserKeyPrefix() string { return v.prefix()[:1] + "nu_" }

// BotKeyPrefix is the prefix of service accounts' API keys.
func (v Vocabulary) BotKeyPrefix() string { return v.prefix()[:1] + "nb_" }
