package events

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func somewhere() position {
	return position{
		filter: &orchv1.EventFilter{
			Order: orchv1.EventOrder_EVENT_ORDER_ASC,
			Occurred: &orchv1.EventOccurredFilter{
				Since: timestamppb.New(time.Unix(1, 2000)), Until: timestamppb.New(time.Unix(3, 4000)),
			},
			Event: &orchv1.EventNameFilter{Prefix: &orchv1.StringList{Values: []string{"a&b=c"}}},
		},
		limit: 50, total: 1 << 40, afterOccurred: 1_000_002, afterID: uuid.New(), seen: 7,
	}
}

func TestTokenComesBack(t *testing.T) {
	t.Parallel()
	want := somewhere()
	token, err := want.token()
	require.NoError(t, err)
	got, err := readToken(token)
	require.NoError(t, err)
	again, err := got.token()
	require.NoError(t, err)
	require.Equal(t, token, again)
	require.Equal(t, want.filter.GetEvent().GetPrefix().GetValues(), got.filter.GetEvent().GetPrefix().GetValues())
	want.filter, got.filter = nil, nil
	require.Equal(t, want, got)
}

func TestTokensThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "[]", `{"f": {}, "n": 10}`, `{"f": {"nope": 1}, "n": 10}`, `{"f": {"occurred": {"until": "2026-01-01T00:00:00Z"}}, "n": 51}`} {
		_, err := readToken(base64.RawURLEncoding.EncodeToString([]byte(text)))
		require.ErrorIs(t, err, errToken, text)
	}
	_, err := readToken("%%%")
	require.ErrorIs(t, err, errToken)
}

// FuzzToken decodes forged tokens: decoding never panics, and every decoded position can be encoded again.
func FuzzToken(f *testing.F) {
	token, err := somewhere().token()
	require.NoError(f, err)
	f.Add(token)
	f.Add("e30")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := readToken(token)
		if err != nil {
			return
		}
		again, err := p.token()
		require.NoError(t, err)
		_, err = readToken(again)
		require.NoError(t, err)
	})
}
