package stream

import (
	"net/http"
	"net/netip"
	"sync"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// maxUnauthenticated bounds the sockets of all clients that have not authenticated yet, and maxUnauthenticatedOfAddress those of
	// one client address. They leave after helloTimeout, so this is a rate too.
	maxUnauthenticated          = 512
	maxUnauthenticatedOfAddress = 64
	// addressBits is the length of the network that counts as one address of IPv6, because a client owns all of it.
	addressBits = 64
)

// Client is what is known of a client before its request becomes a socket.
type Client struct {
	// Address is the client's address; invalid if it is unknown.
	Address netip.Addr
	// Account is the account of an authenticated client; uuid.Nil for one that authenticates by its first message.
	Account uuid.UUID
}

// socketCounts counts the open sockets by account, and those of unauthenticated clients apart by address. It is safe for concurrent use.
type socketCounts struct {
	most, mostOfAccount int

	mu              sync.Mutex
	open            int
	accounts        map[uuid.UUID]int
	unauthenticated int
	addresses       map[netip.Addr]int
}

// newSocketCounts returns the bounds of a server. mostOfAccount is 0 for no bound of an account.
func newSocketCounts(most, mostOfAccount int) *socketCounts {
	if mostOfAccount <= 0 {
		mostOfAccount = most
	}
	return &socketCounts{most: most, mostOfAccount: mostOfAccount, accounts: map[uuid.UUID]int{}, addresses: map[netip.Addr]int{}}
}

// admit counts a socket. Its error is the response.
func (a *socketCounts) admit(c Client) (*admitted, error) {
	s := &admitted{socketCounts: a, address: network(c.Address)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Account != uuid.Nil {
		return s, s.join(c.Account)
	}
	if a.unauthenticated >= maxUnauthenticated || a.addresses[s.address] >= maxUnauthenticatedOfAddress {
		return nil, full("This server has as many websockets without authentication as it takes.")
	}
	a.unauthenticated++
	a.addresses[s.address]++
	s.authPending = true
	return s, nil
}

// network returns what counts as one address.
func network(address netip.Addr) netip.Addr {
	if address = address.Unmap(); !address.Is6() {
		return address
	}
	prefix, err := address.WithZone("").Prefix(addressBits)
	if err != nil {
		return address
	}
	return prefix.Addr()
}

func full(detail string) error {
	return rpc.Error(&orchv1.HttpError{
		Status:  http.StatusServiceUnavailable,
		Form:    &orchv1.HttpError_Detail{Detail: detail},
		Headers: map[string]string{"Retry-After": "5"},
	})
}

// admitted is one counted socket. Its methods lock the counts, except join.
type admitted struct {
	*socketCounts
	address     netip.Addr
	authPending bool // It counts as unauthenticated.
	account     uuid.UUID
}

// join counts the socket for an account. The caller holds the lock.
func (s *admitted) join(account uuid.UUID) error {
	switch {
	case s.open >= s.most:
		return full("This server has as many open websockets as it takes.")
	case s.accounts[account] >= s.mostOfAccount:
		return full("The account has as many open websockets as it may have.")
	}
	s.open++
	s.accounts[account]++
	s.account = account
	return nil
}

// authenticate counts the socket for the account of its client. Its error is what the client reads.
func (s *admitted) authenticate(account uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == account {
		return nil
	}
	s.leave()
	return s.join(account)
}

// end stops counting the socket.
func (s *admitted) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
}

func (s *admitted) leave() {
	if s.authPending {
		s.authPending = false
		s.unauthenticated--
		if s.addresses[s.address]--; s.addresses[s.address] == 0 {
			delete(s.addresses, s.address)
		}
	}
	if s.account != uuid.Nil {
		s.open--
		if s.accounts[s.account]--; s.accounts[s.account] == 0 {
			delete(s.accounts, s.account)
		}
		s.account = uuid.Nil
	}
}
