// Package request carries request metadata from the gateway to the services behind it.
//
// The gateway writes it into gRPC metadata: the workspace that the request is bound to, the base addresses of absolute
// URLs, and the caller. A service rejects a call without a workspace. Clients cannot choose a workspace by a header,
// because the gateway copies no header with that name.
package request

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/metadata"

	"github.com/orch-project/orch/pkg/clientversion"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Info is the metadata of one request.
type Info struct {
	// Account and Workspace bind the request; both are always set.
	Account, Workspace uuid.UUID
	// PublicURL is the address of the API as the client sees it, without a trailing slash: "http://127.0.0.1:4200/api".
	PublicURL string
	// HooksURL is the root of webhook addresses, without a trailing slash: "http://127.0.0.1:4200/hooks".
	HooksURL string
	// UserAgent is the client's, or empty. Some rules depend on the client's version.
	UserAgent string
	// APIVersion is the API version that the client requests, or empty.
	APIVersion string
	// Expects is the vocabulary that the client's headers show.
	Expects vocabulary.Vocabulary
	// Automation is the automation that sends the request, or the zero value.
	Automation Automation
	// Peer is the client's address; the zero address if unknown.
	Peer netip.Addr
	// Connection is the remote address and port of the request's connection, or empty. Requests of one client often share it.
	Connection string
	// ID identifies the request in the logs of all services.
	ID string
	// Caller is the authenticated sender; it is zero without API keys, where everybody may do everything.
	Caller Caller
}

// Automation identifies the automation that sends a request.
type Automation struct {
	ID   uuid.UUID
	Name string
}

// Caller is the user or service account that sends a request.
type Caller struct {
	// ID is the id of the user or service account; Actor is its id in access lists and events.
	ID, Actor uuid.UUID
	// Account is a service account's. It is not sent to the services: their calls are bound to it.
	Account uuid.UUID
	// ServiceAccount is false for users.
	ServiceAccount bool
	// Administrator may administer the whole server.
	Administrator bool
	// KeyExpires is the expiration of the caller's key; zero for never.
	KeyExpires time.Time
	// Unauthenticated marks the caller of a gateway without API keys. Services with API keys refuse it.
	Unauthenticated bool
}

// Known reports whether there is a caller.
func (c Caller) Known() bool { return c.ID != uuid.Nil }

// The account and the workspace of paths without ids. They are the same in every installation, so data can move between
// installations; the version nibble marks them as not random.
var (
	DefaultAccount   = uuid.MustParse("00000000-0000-8000-8000-00000000000a")
	DefaultWorkspace = uuid.MustParse("00000000-0000-8000-8000-000000000001")
)

// Client returns the version of the client whose call is served. It is the zero Client if the server acts by itself.
func Client(ctx context.Context) clientversion.Client {
	info, err := Incoming(ctx)
	if err != nil {
		return clientversion.Client{}
	}
	return clientversion.New(info.UserAgent, info.APIVersion)
}

// ErrNoWorkspace reports a call without the gateway's metadata.
var ErrNoWorkspace = errors.New("call has no workspace")

// The metadata keys. They begin with "orch-", so that no HTTP header turns into one.
const (
	keyAccount   = "orch-account"
	keyWorkspace = "orch-workspace"
	keyPublicURL = "orch-public-url"
	keyHooksURL  = "orch-hooks-url"
	keyUserAgent = "orch-user-agent"
	keyAPI       = "orch-client-api-version"
	keyExpects   = "orch-client-vocabulary" // Absent for the vocabulary Orch.
	keyPeer      = "orch-peer"
	keyID        = "orch-request-id"
	keyConn      = "orch-connection"
	// The automation's id and name; the name is in base64, because metadata is ASCII.
	keyAutomation     = "orch-automation"
	keyAutomationName = "orch-automation-name"
	keyCaller         = "orch-caller" // Kind, id and actor, separated by blanks.
	keyExpires        = "orch-caller-key-expires"
)

// Outgoing returns a context whose gRPC calls carry the metadata.
func Outgoing(ctx context.Context, info Info) context.Context {
	md := metadata.Pairs(
		keyAccount, info.Account.String(),
		keyWorkspace, info.Workspace.String(),
		keyPublicURL, info.PublicURL,
		keyHooksURL, info.HooksURL,
		keyUserAgent, info.UserAgent,
		keyID, info.ID,
	)
	if info.Peer.IsValid() {
		md.Set(keyPeer, info.Peer.String())
	}
	if info.Connection != "" {
		md.Set(keyConn, info.Connection)
	}
	if info.APIVersion != "" {
		md.Set(keyAPI, info.APIVersion)
	}
	if info.Expects != vocabulary.Orch {
		md.Set(keyExpects, info.Expects.String())
	}
	if info.Automation != (Automation{}) {
		md.Set(keyAutomation, info.Automation.ID.String())
		md.Set(keyAutomationName, base64.StdEncoding.EncodeToString([]byte(info.Automation.Name)))
	}
	if info.Caller.Known() || info.Caller.Unauthenticated {
		md.Set(keyCaller, info.Caller.text())
	}
	if expires := info.Caller.KeyExpires; !expires.IsZero() {
		md.Set(keyExpires, expires.UTC().Format(time.RFC3339Nano))
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// Incoming returns the metadata of the served call. It returns ErrNoWorkspace if the call has no workspace.
func Incoming(ctx context.Context) (Info, error) {
	first := func(key string) string { // FromIncomingContext would copy all metadata.
		if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	workspaceID, accountID := first(keyWorkspace), first(keyAccount)
	if workspaceID == "" || accountID == "" {
		return Info{}, ErrNoWorkspace
	}
	workspace, err := uuid.Parse(workspaceID)
	if err != nil {
		return Info{}, fmt.Errorf("parse workspace metadata: %w", err)
	}
	account, err := uuid.Parse(accountID)
	if err != nil {
		return Info{}, fmt.Errorf("parse account metadata: %w", err)
	}
	caller, err := parseCaller(first(keyCaller))
	if err != nil {
		return Info{}, err
	}
	if text := first(keyExpires); text != "" {
		if caller.KeyExpires, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return Info{}, fmt.Errorf("parse caller metadata: %w", err)
		}
	}
	info := Info{
		Caller:     caller,
		Account:    account,
		Workspace:  workspace,
		PublicURL:  first(keyPublicURL),
		HooksURL:   first(keyHooksURL),
		UserAgent:  first(keyUserAgent),
		APIVersion: first(keyAPI),
		ID:         first(keyID),
		Connection: first(keyConn),
	}
	if info.Expects, err = vocabulary.Parse(first(keyExpects)); err != nil {
		return Info{}, fmt.Errorf("parse client vocabulary metadata: %w", err)
	}
	if text := first(keyPeer); text != "" {
		if info.Peer, err = netip.ParseAddr(text); err != nil {
			return Info{}, fmt.Errorf("parse client address metadata: %w", err)
		}
	}
	if text := first(keyAutomation); text != "" {
		if info.Automation.ID, err = uuid.Parse(text); err != nil {
			return Info{}, fmt.Errorf("parse automation metadata: %w", err)
		}
		name, err := base64.StdEncoding.DecodeString(first(keyAutomationName))
		if err != nil {
			return Info{}, fmt.Errorf("decode automation name metadata: %w", err)
		}
		info.Automation.Name = string(name)
	}
	return info, nil
}

// The kinds of callers in metadata.
const (
	kindUser           = "user"
	kindAdministrator  = "administrator"
	kindServiceAccount = "service_account"
	// unauthenticated stands in place of kind, id and actor.
	unauthenticated = "unauthenticated"
)

func (c Caller) text() string {
	kind := kindUser
	switch {
	case !c.Known():
		return unauthenticated
	case c.ServiceAccount:
		kind = kindServiceAccount
	case c.Administrator:
		kind = kindAdministrator
	}
	return kind + " " + c.ID.String() + " " + c.Actor.String()
}

func parseCaller(text string) (Caller, error) {
	switch text {
	case "":
		return Caller{}, nil
	case unauthenticated:
		return Caller{Unauthenticated: true}, nil
	}
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return Caller{}, fmt.Errorf("parse caller metadata: %d parts", len(parts))
	}
	id, err := uuid.Parse(parts[1])
	if err != nil {
		return Caller{}, fmt.Errorf("parse caller metadata: %w", err)
	}
	actor, err := uuid.Parse(parts[2])
	if err != nil {
		return Caller{}, fmt.Errorf("parse caller metadata: %w", err)
	}
	return Caller{ID: id, Actor: actor, ServiceAccount: parts[0] == kindServiceAccount, Administrator: parts[0] == kindAdministrator}, nil
}
