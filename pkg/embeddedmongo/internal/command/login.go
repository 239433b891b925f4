package command

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// mechanism is the only authentication mechanism of the server.
const mechanism = "SCRAM-SHA-256"

// iterations are the minimum that drivers accept. The password is random, so more protect nothing.
const iterations = 4096

// Accounts verifies the password of the one user of a listener. It is safe for concurrent use.
type Accounts struct {
	server   *scram.Server
	optional bool
}

// NewAccounts derives the keys of a user. Optional also admits clients that do not authenticate.
func NewAccounts(user, password string, optional bool) (*Accounts, error) {
	client, err := scram.SHA256.NewClient(user, password, "")
	if err != nil {
		return nil, fmt.Errorf("derive the keys of a password: %w", err)
	}
	salt := make([]byte, 28)
	_, _ = rand.Read(salt) // It never fails.
	stored, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: iterations})
	if err != nil {
		return nil, fmt.Errorf("derive the keys of a password: %w", err)
	}
	server, err := scram.SHA256.NewServer(func(name string) (scram.StoredCredentials, error) {
		if name != user {
			return scram.StoredCredentials{}, errUser
		}
		return stored, nil
	})
	if err != nil {
		return nil, fmt.Errorf("derive the keys of a password: %w", err)
	}
	return &Accounts{server: server, optional: optional}, nil
}

var errUser = errors.New("unknown user")

// Login is the authentication of one connection. A nil Login admits everybody. It serves one goroutine.
type Login struct {
	accounts     *Accounts
	conversation *scram.ServerConversation // Nil outside of an exchange.
	admitted     bool
}

// Login starts the authentication of a connection. Nil accounts admit everybody.
func (a *Accounts) Login() *Login {
	if a == nil {
		return nil
	}
	return &Login{accounts: a, admitted: a.optional}
}

// Admitted reports whether the connection may execute commands.
func (l *Login) Admitted() bool { return l == nil || l.admitted }

// Intercept answers commands of the exchange, and refuses others before its end. Nil leaves the command to the service.
func (l *Login) Intercept(m *wire.Message) value.Doc {
	if l == nil {
		return nil
	}
	switch name, _ := m.Body.First(); {
	case name == "saslStart":
		l.conversation = nil
		if asked := m.Body.Get("mechanism").Str(); asked != mechanism {
			return failure(mongoerr.New(mongoerr.MechanismUnavailable, "the mechanism must be %s, not %q", mechanism, asked))
		}
		l.conversation = l.accounts.server.NewConversation()
		return l.step(m)
	case name == "saslContinue":
		return l.step(m)
	case l.admitted:
		return nil
	case handshakes[name]:
		return nil
	default:
		return failure(mongoerr.New(mongoerr.Unauthorized, "command %s requires authentication", name))
	}
}

// handshakes are the commands that a client needs before it can authenticate.
var handshakes = map[string]bool{"hello": true, "isMaster": true, "ismaster": true}

// step passes the client's message to the exchange. A failure ends the exchange and says nothing about its cause.
func (l *Login) step(m *wire.Message) value.Doc {
	payload, ok := binaryOf(m.Body.Get("payload"))
	if !ok || l.conversation == nil {
		l.conversation = nil
		return failure(mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed."))
	}
	answer, err := l.conversation.Step(string(payload))
	if err != nil {
		l.conversation = nil
		return failure(mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed."))
	}
	done := l.conversation.Done()
	if done {
		l.admitted = l.admitted || l.conversation.Valid()
		l.conversation = nil
	}
	return value.NewBuilder().Int32("conversationId", 1).Add("done", value.OfBool(done)).
		Add("payload", value.Of(bson.Binary{Data: []byte(answer)})).Add("ok", value.OfDouble(1)).Done()
}

// binaryOf returns the bytes of a binary of the generic subtype.
func binaryOf(v value.Value) ([]byte, bool) {
	if v.T != bson.TypeBinary || len(v.B) < 5 {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(v.B))
	return v.B[5:], n == len(v.B)-5 && v.B[4] == bson.TypeBinaryGeneric
}
