package brokertest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/broker"
)

// Event generates events that can be published, in the form in which they arrive.
func Event() *rapid.Generator[broker.Event] {
	return rapid.Custom(func(t *rapid.T) broker.Event {
		e := broker.Event{
			ID:          genUUID(t, "id"),
			Source:      rapid.StringN(1, 20, -1).Draw(t, "source"),
			Type:        rapid.StringN(1, 20, -1).Draw(t, "type"),
			Subject:     rapid.StringN(0, 20, -1).Draw(t, "subject"),
			TraceParent: rapid.SampledFrom([]string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}).Draw(t, "tp"),
			TraceState:  rapid.SampledFrom([]string{"", "a=1,b=2"}).Draw(t, "ts"),
			Data:        genJSON(t),
		}
		if rapid.Bool().Draw(t, "in a workspace") {
			e.Workspace = genUUID(t, "workspace")
		}
		if rapid.Bool().Draw(t, "with a time") {
			e.Time = time.UnixMicro(rapid.Int64Range(-62135596800e6+1, 253402300799e6).Draw(t, "time")).UTC()
		}
		return e
	})
}

func genUUID(t *rapid.T, label string) uuid.UUID {
	u := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
	if u == uuid.Nil {
		u[15] = 1
	}
	return u
}

// genJSON is a JSON text whose notation carries information that a careless copy would lose.
func genJSON(t *rapid.T) json.RawMessage {
	texts := []string{
		``, `null`, `true`, `""`, `[]`, `{}`, `0`, `-0`, `1.00`, `1e400`, `123456789012345678901234567890`, `0.1e-7`,
		`"<script>&"`, `"\u2028"`, `"é"`, `"\u00e9"`, `"\ud800"`, `{"b":1,"a":2,"b":3}`, `{"a" : [ 1 ,2 ]}`, `"a\/b"`, "[\n\t1\n]",
	}
	if rapid.Bool().Draw(t, "known form") {
		if text := rapid.SampledFrom(texts).Draw(t, "data"); text != "" {
			return json.RawMessage(text)
		}
		return nil
	}
	text, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.Int64()).Draw(t, "data"))
	if err != nil {
		panic(err)
	}
	return text
}

func isUnavailable(err error) bool { return errors.Is(err, broker.ErrUnavailable) }
