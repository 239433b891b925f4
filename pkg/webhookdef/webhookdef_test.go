package webhookdef_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestKeyHidesTheSlug(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", webhookdef.Key("abc"))
	require.NotEqual(t, webhookdef.Key("abc"), webhookdef.Key("abC"))
}

func TestDefinitionsSurviveTheBucket(t *testing.T) {
	t.Parallel()
	want := &orchv1.WebhookDefinition{
		Id:               "01890000-0000-7000-8000-000000000001",
		Account:          "01890000-0000-7000-8000-000000000002",
		Workspace:        "01890000-0000-7000-8000-000000000003",
		Name:             "a \"name\" \x00 <&>",
		Template:         "{{ body|tojson }}\r\n\t{# é #} ",
		Enabled:          true,
		ServiceAccountId: proto.String("01890000-0000-7000-8000-000000000004"),
		Revision:         1<<63 - 1,
	}
	entry, err := webhookdef.Encode(want)
	require.NoError(t, err)
	got, err := webhookdef.Decode(entry)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got, protocmp.Transform()))
}

func TestDecodeRefusesOtherThings(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "[]", "{", `{"id": "no uuid"}`} {
		_, err := webhookdef.Decode([]byte(entry))
		require.ErrorIs(t, err, webhookdef.ErrUnreadable, entry)
	}
}
