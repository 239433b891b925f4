package verify

import (
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/webhook/receive"
)

// boxHeaders carry the signatures with the two keys that an application of Box may have.
var boxHeaders = []string{"BOX-SIGNATURE-PRIMARY", "BOX-SIGNATURE-SECONDARY"}

const boxTimestamp = "BOX-DELIVERY-TIMESTAMP"

// box completes the scheme of Box: the body and the time, in RFC 3339, in base64.
func box(s scheme) scheme {
	s.encoding, s.timed = inBase64, true
	s.formatTime = func(at time.Time) string { return at.Format(time.RFC3339) }
	s.claim = func(r *receive.Request) (claim, error) {
		c := claim{timestamp: strings.TrimSpace(r.Get(strings.ToLower(boxTimestamp)))}
		for _, name := range boxHeaders {
			if signature := strings.TrimSpace(r.Get(strings.ToLower(name))); signature != "" {
				c.signatures = append(c.signatures, signature)
			}
		}
		switch {
		case len(c.signatures) == 0:
			return c, missing(boxHeaders[0])
		case c.timestamp == "":
			return c, missing(boxTimestamp)
		}
		return c, nil
	}
	s.content = func(c claim) (string, string) { return "", c.timestamp }
	// The second signature differs with the second key only.
	s.fields = proof(boxHeaders[0]+": {signature}", boxHeaders[1]+": {signature}", boxTimestamp+": {timestamp}")
	return s
}
