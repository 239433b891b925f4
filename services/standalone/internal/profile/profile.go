// Package profile stores the servers that the command line uses: address, key and workspace of each. One profile is
// active.
//
// The file is JSON in the user's configuration directory. It holds keys, so only the user can read it.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/orch-project/orch/pkg/atomicfile"
)

// Profile is one server with one user's credentials.
type Profile struct {
	// APIURL is the address of the REST API, such as http://127.0.0.1:4200/api.
	APIURL string `json:"api_url"`
	// Key is an API key, or user:password; empty for a server without authentication.
	Key string `json:"key,omitempty"`
	// AccountID and WorkspaceID are both empty for the server's default workspace.
	AccountID   string `json:"account_id,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	// Workspace is the workspace's name as account/workspace.
	Workspace string `json:"workspace,omitempty"`
}

// Collection is the set of stored profiles.
type Collection struct {
	// Active is the name of the default profile; empty when there is none.
	Active   string             `json:"active,omitempty"`
	Profiles map[string]Profile `json:"profiles"`
}

// ErrUnknown reports that no profile has the name.
var ErrUnknown = errors.New("unknown profile")

// Get returns a profile by name.
func (b Collection) Get(name string) (Profile, error) {
	p, ok := b.Profiles[name]
	if !ok {
		return Profile{}, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	return p, nil
}

// File is the path of the profiles file.
type File string

// DefaultFile returns the file that ORCH_PROFILES names, or the default file of the user.
func DefaultFile() (File, error) {
	if path := os.Getenv("ORCH_PROFILES"); path != "" {
		return File(path), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the user's configuration directory: %w", err)
	}
	return File(filepath.Join(dir, "orch", "profiles.json")), nil
}

// Open returns the user's file and its profiles.
func Open() (File, Collection, error) {
	file, err := DefaultFile()
	if err != nil {
		return "", Collection{}, err
	}
	profiles, err := file.Read()
	return file, profiles, err
}

// Read returns the profiles; the collection is empty when the file does not exist.
func (f File) Read() (Collection, error) {
	profiles := Collection{Profiles: map[string]Profile{}}
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return profiles, nil
	}
	if err != nil {
		return profiles, fmt.Errorf("read the profiles: %w", err)
	}
	if err := json.Unmarshal(text, &profiles); err != nil {
		return profiles, fmt.Errorf("read the profiles of %s: %w", f, err)
	}
	if profiles.Profiles == nil {
		profiles.Profiles = map[string]Profile{}
	}
	return profiles, nil
}

// Write replaces the file atomically: another process reads the old one or the new one.
func (f File) Write(profiles Collection) error {
	text, err := json.MarshalIndent(profiles, "", "  ")
	if err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	return atomicfile.Replace(string(f), append(text, '\n'))
}
