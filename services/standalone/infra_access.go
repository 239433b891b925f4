package standalone

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/orch-project/orch/pkg/atomicfile"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// access are the credentials of the embedded broker and store on TCP. They survive a restart, so that services reconnect.
type access struct {
	token    string // The broker's.
	password string // The store's.
	optional bool
}

// newAccess returns the credentials of a directory, and new ones for a directory without.
func newAccess(dir datadir.Dir, optional bool) (access, error) {
	broker, err := userInfo(dir.BrokerURL())
	if err != nil {
		return access{}, err
	}
	store, err := userInfo(dir.StoreURI())
	if err != nil {
		return access{}, err
	}
	a := access{token: broker.Username(), optional: optional}
	a.password, _ = store.Password()
	if a.token == "" {
		a.token = rand.Text()
	}
	if a.password == "" {
		a.password = rand.Text()
	}
	return a, nil
}

// userInfo returns the credentials in the address that a file contains; empty ones if there is no file.
func userInfo(path string) (*url.Userinfo, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return url.User(""), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the address of an earlier start: %w", err)
	}
	address, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil || address.User == nil { // The error would repeat the password.
		return nil, fmt.Errorf("%s contains no address with credentials: remove it", path)
	}
	return address.User, nil
}

// required returns a credential that clients must present; empty if credentials are optional.
func (a access) required(credential string) string {
	if a.optional {
		return ""
	}
	return credential
}

// write writes the addresses for the services, into files that only their owner reads.
func (a access) write(dir datadir.Dir, storeURI, brokerURL string) error {
	err := errors.Join(
		atomicfile.Replace(dir.StoreURI(), []byte(storeURI+"\n")),
		atomicfile.Replace(dir.BrokerURL(), []byte(brokerURL+"\n")),
	)
	if err != nil {
		return fmt.Errorf("write the addresses for the services: %w", err)
	}
	return nil
}
