package verify

import (
	"encoding/json"
	"fmt"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// mailgun completes the scheme of Mailgun: the body has a signature of a time and a token, which do not cover the rest of it. The token is
// the delivery's id, so whoever captured a request cannot send another body with it.
func mailgun(s scheme) scheme {
	s.timed, s.signsID, s.detached = true, true, true
	s.claim = func(*receive.Request) (claim, error) { return claim{}, nil }
	s.complete = func(r *receive.Request, c *claim) error {
		text := mailgunFields(r)
		c.timestamp, c.id = text("timestamp"), text("token")
		for _, name := range []string{"signature", "parent-signature"} { // The second is by the key of the primary account.
			if signature := text(name); signature != "" {
				c.signatures = append(c.signatures, signature)
			}
		}
		if c.timestamp == "" || c.id == "" || len(c.signatures) == 0 {
			return fmt.Errorf("%w: its body lacks timestamp, token or signature", ErrUnproven)
		}
		return nil
	}
	s.content = func(c claim) (string, string) { return c.timestamp + c.id, "" }
	s.stamp = func(body []byte, c claim) ([]byte, error) {
		object, err := jsontree.ParseObject(body)
		if err != nil {
			return nil, fmt.Errorf("%w: read the body: %w", ErrInvalid, err)
		}
		signature := jsontree.NewObject(jsontree.Member{Key: "token", Value: c.id}, jsontree.Member{Key: "timestamp", Value: c.timestamp})
		if len(c.signatures) > 0 {
			signature.Set("signature", c.signatures[0])
		}
		object.Set("signature", signature)
		return jsontree.Text(object), nil
	}
	s.fields = proof()
	return s
}

// mailgunFields returns the fields of the signature: members of the object signature, or fields of the form that routes post.
func mailgunFields(r *receive.Request) func(name string) string {
	if form := r.Body(); form.Form {
		return func(name string) string {
			for _, p := range form.Pairs {
				if p.Key == name && p.File == nil {
					return p.Value
				}
			}
			return ""
		}
	}
	signature := signedObject(r).Object("signature")
	return func(name string) string {
		value, _ := signature.Get(name)
		switch value := value.(type) {
		case string:
			return value
		case json.Number:
			return value.String()
		}
		return ""
	}
}
