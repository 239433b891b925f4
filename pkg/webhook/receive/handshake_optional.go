package receive

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Handshakes are those that a webhook has asked for, beside the ones that are always answered.
type Handshakes struct {
	Slack, SNS, Meta, Okta, Head bool
	// VerifyToken is what Meta must name; without one its handshake is not answered.
	VerifyToken string
}

// HandshakesOf returns the handshakes that a webhook has asked for, with its token for Meta's.
func HandshakesOf(hook *orchv1.WebhookDefinition, verifyToken string) Handshakes {
	has := func(h orchv1.WebhookHandshake) bool { return slices.Contains(hook.GetHandshakes(), h) }
	return Handshakes{
		Slack:       has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SLACK),
		SNS:         has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SNS),
		Meta:        has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_META),
		Okta:        has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_OKTA),
		Head:        has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_HEAD),
		VerifyToken: verifyToken,
	}
}

// HandshakeSNS is the name of the handshake of Amazon SNS.
const HandshakeSNS = "sns"

// echo answers with a text that the sender has sent. A browser must not take it for a page.
func echo(name, text string) *Handshake {
	return &Handshake{
		Name:   name,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"}},
		Body:   []byte(text),
	}
}

// oktaChallenge is the header of Okta's handshake.
const oktaChallenge = "X-Okta-Verification-Challenge"

// HeaderHandshake returns the answer to a handshake without a body and a credential; nil when the request is none. The answer only echoes
// the request, and Meta's needs the webhook's token.
func (r *Request) HeaderHandshake(asked Handshakes) *Handshake {
	switch {
	case asked.Head && r.Method == http.MethodHead:
		return &Handshake{Name: "head"}
	case asked.Okta && r.Method == http.MethodGet:
		if answer := r.oktaHandshake(); answer != nil {
			return answer
		}
	}
	if asked.Meta && r.Method == http.MethodGet && asked.VerifyToken != "" {
		return r.metaHandshake(asked.VerifyToken)
	}
	return nil
}

func (r *Request) oktaHandshake() *Handshake {
	challenge := r.Get(strings.ToLower(oktaChallenge))
	answer, err := json.Marshal(map[string]string{"verification": challenge})
	if challenge == "" || err != nil {
		return nil
	}
	return &Handshake{Name: "okta", Header: http.Header{"Content-Type": {"application/json"}}, Body: answer}
}

func (r *Request) metaHandshake(verifyToken string) *Handshake {
	query := map[string]string{}
	for _, p := range ParseQuery(r.Query) {
		query[p.Key] = p.Value
	}
	sent, want := sha256.Sum256([]byte(query["hub.verify_token"])), sha256.Sum256([]byte(verifyToken))
	if query["hub.mode"] != "subscribe" || query["hub.challenge"] == "" || subtle.ConstantTimeCompare(sent[:], want[:]) == 0 {
		return nil
	}
	return echo("meta", query["hub.challenge"])
}

// BodyHandshake returns the answer to a handshake that is a signed request like any other, which are Slack's and that of
// Amazon SNS; nil when the request is none. The body must have been read, and the request been proven.
func (r *Request) BodyHandshake(asked Handshakes) *Handshake {
	if r.Method != http.MethodPost || !asked.Slack && !asked.SNS {
		return nil
	}
	var said struct {
		Type         string `json:"type"`
		Challenge    string `json:"challenge"`
		SubscribeURL string `json:"SubscribeURL"` //nolint:tagliatelle // So Amazon writes it.
	}
	// Field names match in any case; SNS writes Type, Slack type.
	if json.Unmarshal([]byte(r.Body().Text), &said) != nil {
		return nil
	}
	switch {
	case asked.Slack && said.Type == "url_verification" && said.Challenge != "":
		return echo("slack", said.Challenge)
	case asked.SNS && said.Type == "SubscriptionConfirmation" && said.SubscribeURL != "":
		// The address is in the delivery log, for a person to open. It is not verified, so fetching it would let any client
		// make this server call any address.
		return &Handshake{Name: HandshakeSNS}
	}
	return nil
}
