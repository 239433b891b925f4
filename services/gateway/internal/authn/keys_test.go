package authn_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/authn"
)

// slow is a bucket whose changes are seen when somebody catches up, not before.
type slow struct {
	mu      sync.Mutex
	written []broker.Change
	looks   int
	away    bool

	caught  chan chan struct{}
	contact time.Time
}

func (s *slow) write(kind directory.Kind, e *orchv1.DirectoryEntry) {
	value, err := directory.Encode(e)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, broker.Change{Key: directory.Key(kind, e.GetId()), Value: value})
}

func (s *slow) Watch(ctx context.Context, handle func(broker.Change)) error {
	handle(broker.Change{Key: directory.Complete})
	handle(broker.Change{InitialDone: true})
	for {
		select {
		case done := <-s.caught:
			s.mu.Lock()
			for _, change := range s.written {
				handle(change)
			}
			s.written = nil
			s.mu.Unlock()
			close(done)
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *slow) CatchUp(ctx context.Context) error {
	s.mu.Lock()
	s.looks++
	away := s.away
	s.mu.Unlock()
	if away {
		return errors.New("the broker is away")
	}
	done := make(chan struct{})
	select {
	case s.caught <- done:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slow) LastContact() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contact.IsZero() {
		return time.Now()
	}
	return s.contact
}

func (s *slow) lookups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// city has an account with two workspaces: ann owns everything, bob may look at the first workspace, a program works in
// it, and a stranger has an account of their own.
type city struct {
	*slow
	authn.Keys
	account, first, second uuid.UUID
}

func newCity(t *testing.T) *city {
	t.Helper()
	s := &slow{caught: make(chan chan struct{})}
	d := directory.New(directory.Options{Bucket: s})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-d.Ready()
	c := &city{slow: s, Keys: authn.Keys{Directory: d}, account: uuid.New(), first: uuid.New(), second: uuid.New()}
	s.write(directory.Account, &orchv1.DirectoryEntry{Id: c.account.String(), Account: &orchv1.DirectoryAccount{}})
	for _, id := range []uuid.UUID{c.first, c.second} {
		s.write(directory.Workspace, &orchv1.DirectoryEntry{Id: id.String(), Workspace: &orchv1.DirectoryWorkspace{AccountId: c.account.String()}})
	}
	return c
}

// actor adds somebody and returns their key.
func (c *city) actor(kind directory.Kind, edit func(*orchv1.DirectoryActor)) (token string, actor *orchv1.DirectoryActor) {
	token, digest := auth.NewKey("onu_")
	actor = &orchv1.DirectoryActor{ActorId: uuid.NewString(), Keys: []*orchv1.DirectoryKey{{Id: uuid.NewString(), Digest: digest}}}
	if edit != nil {
		edit(actor)
	}
	c.write(kind, &orchv1.DirectoryEntry{Id: uuid.NewString(), Actor: actor})
	return token, actor
}

func (c *city) member(actor *orchv1.DirectoryActor, role string) {
	c.write(directory.Membership, &orchv1.DirectoryEntry{Id: uuid.NewString(), Membership: &orchv1.DirectoryMembership{
		AccountId: c.account.String(), ActorId: actor.GetActorId(), AccountRoleId: role,
	}})
}

func (c *city) grant(actor *orchv1.DirectoryActor, workspace uuid.UUID, role string) {
	c.write(directory.Access, &orchv1.DirectoryEntry{Id: uuid.NewString(), Access: &orchv1.DirectoryAccess{
		WorkspaceId: workspace.String(), ActorId: actor.GetActorId(), WorkspaceRoleId: role,
	}})
}

// in is the need of an operation in a workspace that the path names.
func (c *city) in(workspace uuid.UUID, scope string) authn.Need {
	return authn.Need{Scope: scope, Account: c.account, Workspace: workspace, Named: true}
}

// status is the answer of an admission, 200 where there is none.
func (c *city) status(t *testing.T, token string, need authn.Need) int {
	t.Helper()
	_, err := c.Admit(t.Context(), token, need)
	if err == nil {
		return http.StatusOK
	}
	return int(rpc.HTTPError(err).GetStatus())
}

func TestKeysAreAdmittedByRole(t *testing.T) {
	t.Parallel()
	c := newCity(t)
	owner, ann := c.actor(directory.User, nil)
	c.member(ann, access.AccountOwner)
	viewer, bob := c.actor(directory.User, nil)
	c.member(bob, access.AccountMember)
	c.grant(bob, c.first, access.WorkspaceViewer)
	program, bot := c.actor(directory.ServiceAccount, func(a *orchv1.DirectoryActor) {
		a.AccountId, a.AccountRoleId = proto.String(c.account.String()), proto.String(access.AccountMember)
	})
	c.grant(bot, c.first, access.WorkspaceDeveloper)
	stranger, _ := c.actor(directory.User, nil)
	admin, _ := c.actor(directory.User, func(a *orchv1.DirectoryActor) { a.Administrator = true })
	unknown, _ := auth.NewKey("onu_")

	inAccount := authn.Need{Realm: orchv1.Realm_REALM_ACCOUNT, Scope: "manage_account", Account: c.account, Named: true}
	ofServer := authn.Need{Realm: orchv1.Realm_REALM_SERVER, Scope: serverScope(t)}
	unnamed := c.in(c.first, "see_flows")
	unnamed.Named = false
	for name, test := range map[string]struct {
		token string
		need  authn.Need
		want  int
	}{
		"no key":                                   {"", c.in(c.first, "see_flows"), 401},
		"no key, and none is needed by scope":      {"", authn.Need{}, 401},
		"an unknown key":                           {unknown, c.in(c.first, "see_flows"), 401},
		"a password":                               {"ann:secret", c.in(c.first, "see_flows"), 401},
		"a valid key alone":                        {stranger, authn.Need{}, 200},
		"the owner":                                {owner, c.in(c.second, "manage_flows"), 200},
		"the owner, of the account":                {owner, inAccount, 200},
		"the owner, of the server":                 {owner, ofServer, 403},
		"the administrator, of the server":         {admin, ofServer, 200},
		"the administrator, of somebody's account": {admin, inAccount, 404},
		"the viewer sees":                          {viewer, c.in(c.first, "see_flows"), 200},
		"the viewer changes":                       {viewer, c.in(c.first, "manage_flows"), 403},
		"the viewer, elsewhere in the account":     {viewer, c.in(c.second, "see_flows"), 403},
		"the viewer, of the account":               {viewer, inAccount, 403},
		"the program":                              {program, c.in(c.first, "manage_flows"), 200},
		"the program, elsewhere":                   {program, c.in(c.second, "see_flows"), 403},
		"a stranger where the path says":           {stranger, c.in(c.first, "see_flows"), 404},
		"a stranger where the path says nothing":   {stranger, unnamed, 403},
		"a workspace of another account": {
			owner, authn.Need{Scope: "see_flows", Account: uuid.New(), Workspace: c.first, Named: true}, 404,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, c.status(t, test.token, test.need))
		})
	}
}

// serverScope is a scope of the server's administrators.
func serverScope(t *testing.T) string {
	t.Helper()
	all := access.Scopes(orchv1.Realm_REALM_SERVER).Sorted()
	require.NotEmpty(t, all)
	return all[0]
}

func TestProgramsAreNotPeople(t *testing.T) {
	t.Parallel()
	c := newCity(t)
	person, _ := c.actor(directory.User, nil)
	program, bot := c.actor(directory.ServiceAccount, func(a *orchv1.DirectoryActor) { a.AccountId = proto.String(c.account.String()) })
	for scope := range access.Self {
		need := authn.Need{Realm: orchv1.Realm_REALM_SELF, Scope: scope}
		require.Equal(t, http.StatusOK, c.status(t, person, need), scope)
		want := http.StatusForbidden
		if access.SelfOfProgram.Has(scope) {
			want = http.StatusOK
		}
		require.Equal(t, want, c.status(t, program, need), scope)
	}
	caller, err := c.Admit(t.Context(), program, authn.Need{})
	require.NoError(t, err)
	require.Equal(t, request.Caller{
		ID: caller.ID, Actor: uuid.MustParse(bot.GetActorId()), Account: c.account, ServiceAccount: true,
	}, caller)
	require.NotEqual(t, uuid.Nil, caller.ID)
}

// A key that was written a moment ago counts, but only those who would be refused wait for it.
func TestRefusalsLookTwice(t *testing.T) {
	t.Parallel()
	c := newCity(t)
	token, ann := c.actor(directory.User, nil)
	c.member(ann, access.AccountOwner)
	require.Equal(t, http.StatusOK, c.status(t, token, c.in(c.first, "see_flows")), "a key that was just made")
	require.Equal(t, 1, c.lookups())
	require.Equal(t, http.StatusOK, c.status(t, token, c.in(c.first, "see_flows")))
	require.Equal(t, 1, c.lookups(), "who is admitted makes nobody look")

	require.Equal(t, http.StatusUnauthorized, c.status(t, "no key at all", c.in(c.first, "see_flows")))
	require.Equal(t, 1, c.lookups(), "a malformed key causes no catch-up")

	c.mu.Lock()
	c.away = true
	c.mu.Unlock()
	unknown, _ := auth.NewKey("onu_")
	require.Equal(t, http.StatusUnauthorized, c.status(t, unknown, c.in(c.first, "see_flows")), "the first judgement holds")
}

// Without contact to the broker a key may have been revoked since: that is no refusal, but a server that cannot tell.
func TestStaleViewsAreUnavailable(t *testing.T) {
	t.Parallel()
	c := newCity(t)
	token, ann := c.actor(directory.User, nil)
	c.member(ann, access.AccountOwner)
	require.Equal(t, http.StatusOK, c.status(t, token, c.in(c.first, "see_flows")))
	c.mu.Lock()
	c.contact = time.Now().Add(-time.Minute)
	c.mu.Unlock()
	_, err := c.Admit(t.Context(), token, c.in(c.first, "see_flows"))
	answer := rpc.HTTPError(err)
	require.Equal(t, int32(http.StatusServiceUnavailable), answer.GetStatus())
	require.Equal(t, "1", answer.GetHeaders()["Retry-After"])
	require.Equal(t, "true", answer.GetHeaders()[vocabulary.MaintenanceHeader])
}

// On a server without keys a path may still name a missing workspace.
func TestExists(t *testing.T) {
	t.Parallel()
	c := newCity(t)
	exists := func(need authn.Need) bool { return c.Exists(t.Context(), need) == nil }
	require.True(t, exists(c.in(c.first, "")), "it is looked for before it is missed")
	require.False(t, exists(c.in(uuid.New(), "")))
	require.False(t, exists(authn.Need{Account: uuid.New(), Workspace: c.first, Named: true}))
	require.True(t, exists(authn.Need{Account: uuid.New(), Workspace: uuid.New()}), "nothing was named")
	require.True(t, exists(authn.Need{Realm: orchv1.Realm_REALM_ACCOUNT, Account: c.account, Named: true}))
	require.False(t, exists(authn.Need{Realm: orchv1.Realm_REALM_ACCOUNT, Account: uuid.New(), Named: true}))
}
