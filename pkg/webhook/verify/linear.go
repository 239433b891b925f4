package verify

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

const (
	linearID = "Linear-Delivery"
	// linearTime is the field of the body with the time in Unix milliseconds.
	linearTime = "webhookTimestamp"
)

// linear completes the scheme of Linear: the signed body contains its time.
func linear(s scheme) scheme {
	read := header("Linear-Signature", "")
	s.timed, s.formatTime = true, func(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }
	s.claim = func(r *receive.Request) (claim, error) {
		c, err := read(r)
		c.id = strings.TrimSpace(r.Get(strings.ToLower(linearID)))
		return c, err
	}
	s.complete = func(r *receive.Request, c *claim) error {
		value, _ := signedObject(r).Get(linearTime)
		at, ok := value.(json.Number)
		if !ok {
			return fmt.Errorf("%w: its body lacks %s", ErrUnproven, linearTime)
		}
		c.timestamp = at.String()
		return nil
	}
	s.stamp = func(body []byte, c claim) ([]byte, error) {
		object, err := jsontree.ParseObject(body)
		if err != nil {
			return nil, fmt.Errorf("%w: read the body: %w", ErrInvalid, err)
		}
		object.Set(linearTime, json.Number(c.timestamp))
		return jsontree.Text(object), nil
	}
	s.fields = proof("Linear-Signature: {signature}", linearID+": {id}")
	return s
}
