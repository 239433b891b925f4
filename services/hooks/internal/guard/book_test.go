package guard

import (
	"encoding/base64"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/catalogue"
	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	inside  = netip.MustParseAddr("192.0.2.7")
	outside = netip.MustParseAddr("198.51.100.7")
)

func ring(t *testing.T) secrets.Keyring {
	t.Helper()
	keys, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	return keys
}

func definition() *orchv1.WebhookDefinition {
	return &orchv1.WebhookDefinition{Id: uuid.NewString(), Workspace: uuid.NewString(), Enabled: true}
}

func limit(requests int64) *orchv1.WebhookRateLimit {
	return &orchv1.WebhookRateLimit{Requests: requests, Seconds: 60}
}

func TestAccountsRulesComeFirst(t *testing.T) {
	t.Parallel()
	b := NewBook(secrets.Keyring{})
	d := definition()
	d.AllowedIps, d.RateLimit = []string{"192.0.2.0/24"}, limit(3)
	account := &orchv1.AccountDefinition{Id: uuid.NewString(), RateLimit: limit(4), AllowedIps: []string{"192.0.2.0/24", "198.51.100.0/24"}}
	g := b.Of(d)
	require.Same(t, g, b.Of(d), "made once for a definition")

	require.ErrorIs(t, b.Admit(g, account, netip.MustParseAddr("203.0.113.1"), start), ErrForbidden)
	require.ErrorIs(t, b.Admit(g, account, netip.Addr{}, start), ErrForbidden, "an address that is not known is on no list")
	require.ErrorIs(t, b.Admit(g, account, outside, start), ErrForbidden, "the webhook allows fewer than its account")
	for range 3 {
		require.NoError(t, b.Admit(g, account, inside, start))
	}
	var tooMany *TooManyError
	require.ErrorAs(t, b.Admit(g, account, inside, start), &tooMany, "the account counts what the webhook refused")
	require.Equal(t, time.Minute, tooMany.Wait)
	require.ErrorAs(t, b.Admit(g, nil, inside, start), &tooMany, "the webhook's own limit")
}

// A change of a webhook must not give whoever floods it a fresh allowance.
func TestCountsOutliveAChange(t *testing.T) {
	t.Parallel()
	b := NewBook(secrets.Keyring{})
	d := definition()
	d.RateLimit = limit(1)
	require.NoError(t, b.Admit(b.Of(d), nil, inside, start))
	renamed := proto.CloneOf(d)
	renamed.Name = "another name"
	var tooMany *TooManyError
	require.ErrorAs(t, b.Admit(b.Of(renamed), nil, inside, start), &tooMany)
	raised := proto.CloneOf(d)
	raised.RateLimit = limit(2)
	require.NoError(t, b.Admit(b.Of(raised), nil, inside, start), "another limit counts anew")
	b.Forget(d.GetId())
	require.NoError(t, b.Admit(b.Of(d), nil, inside, start))
}

func TestWhatCannotBeGuardedIsClosed(t *testing.T) {
	t.Parallel()
	keys := ring(t)
	seal := func(d *orchv1.WebhookDefinition, field string) string {
		place := catalogue.SecretPlace(uuid.MustParse(d.GetWorkspace()), uuid.MustParse(d.GetId()), field)
		sealed, err := keys.Seal(place, []byte("a secret that is long enough"))
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(sealed)
	}
	github := &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB}
	for name, c := range map[string]struct {
		change func(*orchv1.WebhookDefinition)
		keys   secrets.Keyring
		open   bool
	}{
		"as it should be": {func(d *orchv1.WebhookDefinition) {
			d.Verification, d.SealedSecrets = github, []string{seal(d, catalogue.FieldSecrets)}
		}, keys, true},
		"another key": {func(d *orchv1.WebhookDefinition) {
			d.Verification, d.SealedSecrets = github, []string{seal(d, catalogue.FieldSecrets)}
		}, ring(t), false},
		"another webhook's secret": {func(d *orchv1.WebhookDefinition) {
			other := definition()
			d.Verification, d.SealedSecrets = github, []string{seal(other, catalogue.FieldSecrets)}
		}, keys, false},
		"a secret of another field": {func(d *orchv1.WebhookDefinition) {
			d.Verification, d.SealedSecrets = github, []string{seal(d, catalogue.FieldVerifyToken)}
		}, keys, false},
		"no secret":          {func(d *orchv1.WebhookDefinition) { d.Verification = github }, keys, false},
		"a broken token":     {func(d *orchv1.WebhookDefinition) { d.SealedVerifyToken = proto.String("*") }, keys, false},
		"a network is none":  {func(d *orchv1.WebhookDefinition) { d.AllowedIps = []string{"everywhere"} }, keys, false},
		"its id is none":     {func(d *orchv1.WebhookDefinition) { d.Id = "x" }, keys, false},
		"its workspace, too": {func(d *orchv1.WebhookDefinition) { d.Workspace = "x" }, keys, false},
	} {
		d := definition()
		c.change(d)
		b := NewBook(c.keys)
		err := b.Admit(b.Of(d), nil, inside, start)
		if c.open {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, ErrClosed, name)
		require.ErrorIs(t, b.Of(d).Fault(), ErrClosed, name)
	}
}
