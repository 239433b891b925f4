// Package request carries what the gateway knows of a request to the services behind it.
//
// The gateway alone writes it, into gRPC metadata: the workspace that the request is bound to, the addresses that
// absolute URLs are built on, and who asks. A service that finds no workspace refuses the call; a client cannot
// choose one by sending a header, because the gateway copies no header of that name.
package request

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/metadata"
)

// Info is what the gateway tells of one request.
type Info struct {
	// Account and Workspace bind the request; both are always set.
	Account, Workspace uuid.UUID
	// PublicURL is the address of the API as the client sees it, without a trailing slash: "http://127.0.0.1:4200/api".
	PublicURL string
	// HooksURL is the root of webhook addresses, without a trailing slash: "http://127.0.0.1:4200/hooks".
	HooksURL string
	// UserAgent is the client's, empty when it sent none. Some rules depend on the client's version.
	UserAgent string
	// APIVersion is the version of the API that the client says it speaks, empty when it names none.
	APIVersion string
	// Automation is the automation that makes the request; the zero value means that none does.
	Automation Automation
	// Peer is the address that the client is at; the zero address when that is not known.
	Peer netip.Addr
	// ID names the request in the logs of all services.
	ID string
	// Caller is who sends it; the zero Caller on a server without API keys, where everybody may do everything.
	Caller Caller
}

// Automation is what a request tells of the automation that makes it.
type Automation struct {
	ID   uuid.UUID
	Name string
}

// Caller is the user or service account that sends a request.
type Caller struct {
	// ID is the user's or the service account's; Actor who they are in access lists and events.
	ID, Actor uuid.UUID
	// Account is a service account's; it is not carried to the services, as their calls are bound to it.
	Account uuid.UUID
	// ServiceAccount tells programs from people.
	ServiceAccount bool
	// Administrator may administer the whole server.
	Administrator bool
}

// Known tells whether there is a caller.
func (c Caller) Known() bool { return c.ID != uuid.Nil }

// The account and the workspace of paths without ids. They are the same in every installation, so that data can
// move from one to another; the version nibble says that they are nobody's random choice.
var (
	DefaultAccount   = uuid.MustParse("00000000-0000-8000-8000-00000000000a")
	DefaultWorkspace = uuid.MustParse("00000000-0000-8000-8000-000000000001")
)

// ErrNoWorkspace means that a call came without the gateway's words.
var ErrNoWorkspace = errors.New("the call names no workspace")

// The metadata keys. They begin with "orch-", so that no HTTP header turns into one.
const (
	keyAccount   = "orch-account"
	keyWorkspace = "orch-workspace"
	keyPublicURL = "orch-public-url"
	keyHooksURL  = "orch-hooks-url"
	keyUserAgent = "orch-user-agent"
	keyAPI       = "orch-client-api-version"
	keyPeer      = "orch-peer"
	keyID        = "orch-request-id"
	// The automation's id and name, the latter in base64: metadata carries plain text only.
	keyAutomation     = "orch-automation"
	keyAutomationName = "orch-automation-name"
	keyCaller         = "orch-caller" // Kind, id and actor, parted by blanks.
)

// Outgoing returns a context whose gRPC calls carry the information.
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
	if info.APIVersion != "" {
		md.Set(keyAPI, info.APIVersion)
	}
	if info.Automation != (Automation{}) {
		md.Set(keyAutomation, info.Automation.ID.String())
		md.Set(keyAutomationName, base64.StdEncoding.EncodeToString([]byte(info.Automation.Name)))
	}
	if info.Caller.Known() {
		md.Set(keyCaller, info.Caller.text())
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// Incoming reads the information of the call that is being served.
// It returns ErrNoWorkspace when the call names none.
func Incoming(ctx context.Context) (Info, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	first := func(key string) string {
		if values := md.Get(key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	if first(keyWorkspace) == "" || first(keyAccount) == "" {
		return Info{}, ErrNoWorkspace
	}
	workspace, err := uuid.Parse(first(keyWorkspace))
	if err != nil {
		return Info{}, fmt.Errorf("read the workspace of the call: %w", err)
	}
	account, err := uuid.Parse(first(keyAccount))
	if err != nil {
		return Info{}, fmt.Errorf("read the account of the call: %w", err)
	}
	caller, err := parseCaller(first(keyCaller))
	if err != nil {
		return Info{}, err
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
	}
	if text := first(keyPeer); text != "" {
		if info.Peer, err = netip.ParseAddr(text); err != nil {
			return Info{}, fmt.Errorf("read the address of the client: %w", err)
		}
	}
	if text := first(keyAutomation); text != "" {
		if info.Automation.ID, err = uuid.Parse(text); err != nil {
			return Info{}, fmt.Errorf("read the automation of the call: %w", err)
		}
		name, err := base64.StdEncoding.DecodeString(first(keyAutomationName))
		if err != nil {
			return Info{}, fmt.Errorf("read the name of the call's automation: %w", err)
		}
		info.Automation.Name = string(name)
	}
	return info, nil
}

// The kinds of callers.
const (
	kindUser           = "user"
	kindAdministrator  = "administrator"
	kindServiceAccount = "service_account"
)

func (c Caller) text() string {
	kind := kindUser
	switch {
	case c.ServiceAccount:
		kind = kindServiceAccount
	case c.Administrator:
		kind = kindAdministrator
	}
	return kind + " " + c.ID.String() + " " + c.Actor.String()
}

func parseCaller(text string) (Caller, error) {
	if text == "" {
		return Caller{}, nil
	}
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return Caller{}, fmt.Errorf("read the caller of the call: %d parts", len(parts))
	}
	id, err := uuid.Parse(parts[1])
	if err != nil {
		return Caller{}, fmt.Errorf("read the caller of the call: %w", err)
	}
	actor, err := uuid.Parse(parts[2])
	if err != nil {
		return Caller{}, fmt.Errorf("read the caller of the call: %w", err)
	}
	return Caller{ID: id, Actor: actor, ServiceAccount: parts[0] == kindServiceAccount, Administrator: parts[0] == kindAdministrator}, nil
}
