// Package profile remembers the servers that the command line speaks to: where each is, the key to it, and the
// workspace that commands work in. One profile is active.
//
// The file is JSON in the user's configuration directory, readable by the user alone, since it holds keys.
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

// Profile is one server, as one user sees it.
type Profile struct {
	// APIURL is the address of the REST API, such as http://127.0.0.1:4200/api.
	APIURL string `json:"api_url"`
	// Key is an API key, or user:password; empty where the server asks for none.
	Key string `json:"key,omitempty"`
	// AccountID and WorkspaceID are both empty for the server's default workspace.
	AccountID   string `json:"account_id,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	// Workspace is what people call the workspace: the handles of account and workspace.
	Workspace string `json:"workspace,omitempty"`
}

// Collection is the set of stored profiles.
type Collection struct {
	// Active names the profile of commands that name none; empty when there is none.
	Active   string             `json:"active,omitempty"`
	Profiles map[string]Profile `json:"profiles"`
}

// ErrUnknown says that no profile has a name.
var ErrUnknown = errors.New("there is no such profile")

// Get returns a profile by its name.
func (b Collection) Get(name string) (Profile, error) {
	p, ok := b.Profiles[name]
	if !ok {
		return Profile{}, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	return p, nil
}

// File is the path of the profiles file.
type File string

// DefaultFile is the file of the user who runs the process, or the one that ORCH_PROFILES names.
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
