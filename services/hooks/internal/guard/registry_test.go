package guard

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/ratelimit"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/webhookdef"
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
	return &orchv1.WebhookDefinition{Id: uuid.NewString(), Account: uuid.NewString(), Workspace: uuid.NewString(), Enabled: true}
}

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func limit(requests int64) *orchv1.WebhookRateLimit {
	return &orchv1.WebhookRateLimit{Requests: requests, Seconds: 60}
}

func newRegistry(t *testing.T, keys secrets.Keyring, operator Rules) *Registry {
	t.Helper()
	b, err := NewRegistry(keys, nil, operator, ratelimit.New(ratelimit.Options{Clock: clock.NewManual(start)}))
	require.NoError(t, err)
	return b
}

func TestAllRulesHold(t *testing.T) {
	t.Parallel()
	both := []string{"192.0.2.0/24", "198.51.100.0/24"}
	for name, c := range map[string]struct {
		operator      Rules
		account, hook *Rules
	}{
		"the webhook's are the narrowest":  {Rules{RateLimit: limit(9), AllowedIPs: both}, &Rules{RateLimit: limit(5), AllowedIPs: both}, &Rules{RateLimit: limit(3), AllowedIPs: both[:1]}},
		"the account's are the narrowest":  {Rules{RateLimit: limit(9), AllowedIPs: both}, &Rules{RateLimit: limit(3), AllowedIPs: both[:1]}, &Rules{RateLimit: limit(5), AllowedIPs: both}},
		"the operator's are the narrowest": {Rules{RateLimit: limit(3), AllowedIPs: both[:1]}, &Rules{RateLimit: limit(9), AllowedIPs: both}, &Rules{RateLimit: limit(5), AllowedIPs: both}},
		"the operator's alone":             {Rules{RateLimit: limit(3), AllowedIPs: both[:1]}, nil, &Rules{}},
		"an account without rules":         {Rules{RateLimit: limit(3), AllowedIPs: both[:1]}, &Rules{}, &Rules{}},
		"the account's alone":              {Rules{}, &Rules{RateLimit: limit(3), AllowedIPs: both[:1]}, &Rules{}},
		"the webhook's alone":              {Rules{}, nil, &Rules{RateLimit: limit(3), AllowedIPs: both[:1]}},
		"one of each":                      {Rules{AllowedIPs: both[:1]}, &Rules{RateLimit: limit(3)}, &Rules{RateLimit: limit(5), AllowedIPs: both}},
	} {
		t.Run(name, func(t *testing.T) {
			d := definition()
			d.AllowedIps, d.RateLimit = c.hook.AllowedIPs, c.hook.RateLimit
			var account *orchv1.AccountDefinition
			if c.account != nil {
				account = &orchv1.AccountDefinition{Id: d.GetAccount(), RateLimit: c.account.RateLimit, AllowedIps: c.account.AllowedIPs}
			}
			b := newRegistry(t, secrets.Keyring{}, c.operator)
			g := b.Of(d)
			require.Same(t, g, b.Of(d), "made once for a definition")
			for range 20 { // More than any of the limits.
				require.ErrorIs(t, b.Admit(t.Context(), g, account, outside), ErrForbidden, name)
				require.ErrorIs(t, b.Admit(t.Context(), g, account, netip.Addr{}), ErrForbidden, "%s: an address that is not known is on no list", name)
			}
			for range 3 {
				require.NoError(t, b.Admit(t.Context(), g, account, inside), name)
			}
			var tooMany *TooManyError
			require.ErrorAs(t, b.Admit(t.Context(), g, account, inside), &tooMany, name)
			require.Equal(t, 20*time.Second, tooMany.Wait, name)
		})
	}
}

// The operator's limit holds for an account through all of its changes, and for each account by itself.
func TestTheOperatorsLimitCannotBeLifted(t *testing.T) {
	t.Parallel()
	b := newRegistry(t, secrets.Keyring{}, Rules{RateLimit: limit(2)})
	d := definition()
	require.NoError(t, b.Admit(t.Context(), b.Of(d), nil, inside))
	require.NoError(t, b.Admit(t.Context(), b.Of(d), &orchv1.AccountDefinition{Id: d.GetAccount(), RateLimit: limit(1000)}, inside))
	var tooMany *TooManyError
	for _, account := range []*orchv1.AccountDefinition{nil, {Id: d.GetAccount()}, {Id: d.GetAccount(), RateLimit: limit(2000)}} {
		require.ErrorAs(t, b.Admit(t.Context(), b.Of(d), account, inside), &tooMany)
	}
	other := definition()
	require.NoError(t, b.Admit(t.Context(), b.Of(other), nil, inside))
	_, err := NewRegistry(secrets.Keyring{}, nil, Rules{AllowedIPs: []string{"everywhere"}}, nil)
	require.Error(t, err)
}

// A change of a webhook must not give a fresh burst to the sender that floods it.
func TestCountsOutliveAChange(t *testing.T) {
	t.Parallel()
	b := newRegistry(t, secrets.Keyring{}, Rules{})
	d := definition()
	d.RateLimit = limit(1)
	require.NoError(t, b.Admit(t.Context(), b.Of(d), nil, inside))
	renamed := proto.CloneOf(d)
	renamed.Name = "another name"
	var tooMany *TooManyError
	require.ErrorAs(t, b.Admit(t.Context(), b.Of(renamed), nil, inside), &tooMany)
	raised := proto.CloneOf(d)
	raised.RateLimit = limit(2)
	require.NoError(t, b.Admit(t.Context(), b.Of(raised), nil, inside), "one more than before")
	b.Forget(d.GetId())
	require.ErrorAs(t, b.Admit(t.Context(), b.Of(d), nil, inside), &tooMany, "the shared state remains")
}

func TestWhatCannotBeGuardedIsClosed(t *testing.T) {
	t.Parallel()
	keys := ring(t)
	seal := func(d *orchv1.WebhookDefinition, field string) string {
		secretField := webhookdef.SecretPlace(uuid.MustParse(d.GetWorkspace()), uuid.MustParse(d.GetId()), field)
		sealed, err := keys.Seal(secretField, []byte("a secret that is long enough"))
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
			d.Verification, d.SealedSecrets = github, []string{seal(d, webhookdef.FieldSecrets)}
		}, keys, true},
		"another key": {func(d *orchv1.WebhookDefinition) {
			d.Verification, d.SealedSecrets = github, []string{seal(d, webhookdef.FieldSecrets)}
		}, ring(t), false},
		"another webhook's secret": {func(d *orchv1.WebhookDefinition) {
			other := definition()
			d.Verification, d.SealedSecrets = github, []string{seal(other, webhookdef.FieldSecrets)}
		}, keys, false},
		"a secret of another field": {func(d *orchv1.WebhookDefinition) {
			d.Verification, d.SealedSecrets = github, []string{seal(d, webhookdef.FieldVerifyToken)}
		}, keys, false},
		"no secret":          {func(d *orchv1.WebhookDefinition) { d.Verification = github }, keys, false},
		"a broken token":     {func(d *orchv1.WebhookDefinition) { d.SealedVerifyToken = proto.String("*") }, keys, false},
		"a network is none":  {func(d *orchv1.WebhookDefinition) { d.AllowedIps = []string{"everywhere"} }, keys, false},
		"its id is none":     {func(d *orchv1.WebhookDefinition) { d.Id = "x" }, keys, false},
		"its workspace, too": {func(d *orchv1.WebhookDefinition) { d.Workspace = "x" }, keys, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := definition()
			c.change(d)
			b := newRegistry(t, c.keys, Rules{})
			err := b.Admit(t.Context(), b.Of(d), nil, inside)
			if c.open {
				require.NoError(t, err, name)
				return
			}
			require.ErrorIs(t, err, ErrClosed, name)
			require.ErrorIs(t, b.Of(d).Unusable(), ErrClosed, name)
		})
	}
}

// TestTheQuotaCountsEachEvent of a request. A request with more events than the quota takes all of it.
func TestTheQuotaCountsEachEvent(t *testing.T) {
	t.Parallel()
	keys := ring(t)
	for name, c := range map[string]struct {
		quota  int64
		events []int // Of requests at one time.
		want   []bool
	}{
		"no quota":            {0, []int{100, 100}, []bool{true, true}},
		"within the quota":    {10, []int{4, 5, 1, 1}, []bool{true, true, true, false}},
		"one too many":        {10, []int{4, 7}, []bool{true, false}},
		"more than the quota": {10, []int{100, 1}, []bool{true, false}},
		"a quota of one":      {1, []int{3, 1}, []bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t, keys, Rules{EventsPerSecond: c.quota})
			g := r.Of(definition())
			for i, events := range c.events {
				err := r.Admit(t.Context(), g, nil, inside)
				if err == nil {
					err = r.AdmitEvents(t.Context(), g, nil, events)
				}
				if c.want[i] {
					require.NoError(t, err)
					continue
				}
				many, ok := errors.AsType[*TooManyError](err)
				require.True(t, ok)
				require.True(t, many.Quota)
				require.Positive(t, many.Wait)
				require.LessOrEqual(t, many.Wait, time.Second)
			}
		})
	}
}
