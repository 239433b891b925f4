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
	// Automation is the automation that makes the request; the zero value means that none does.
	Automation Automation
	// ID names the request in the logs of all services.
	ID string
}

// Automation is what a request tells of the automation that makes it.
type Automation struct {
	ID   uuid.UUID
	Name string
}

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
	keyID        = "orch-request-id"
	// The automation's id and name, the latter in base64: metadata carries plain text only.
	keyAutomation     = "orch-automation"
	keyAutomationName = "orch-automation-name"
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
	if info.Automation != (Automation{}) {
		md.Set(keyAutomation, info.Automation.ID.String())
		md.Set(keyAutomationName, base64.StdEncoding.EncodeToString([]byte(info.Automation.Name)))
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
	info := Info{
		Account:   account,
		Workspace: workspace,
		PublicURL: first(keyPublicURL),
		HooksURL:  first(keyHooksURL),
		UserAgent: first(keyUserAgent),
		ID:        first(keyID),
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
