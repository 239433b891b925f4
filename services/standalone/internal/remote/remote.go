// Package remote calls the REST API of an Orch server, for the command line.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/orch-project/orch/pkg/quickstart"
)

// Server is a server with the credentials of a caller.
type Server struct {
	// API is the address of the REST API, without a trailing slash.
	API string
	// Key is an API key, or user:password, which becomes basic authentication; empty for none.
	Key string
	// Account and Workspace are ids, both empty for the default workspace.
	Account, Workspace string
	// Client is http.DefaultClient when nil.
	Client *http.Client
	// Agent is the User-Agent.
	Agent string
	// Calls receives each call as a curl command, before it is sent; nil for none.
	Calls io.Writer
}

// answerLimit is the maximum size of a response in bytes.
const answerLimit = 64 << 20

// InWorkspace returns the path of a resource in the server's workspace.
func (s *Server) InWorkspace(path string) string {
	if s.Workspace == "" {
		return path
	}
	return "/accounts/" + s.Account + "/workspaces/" + s.Workspace + path
}

// Call sends a request with a JSON body (nil: none) and returns the body of the response. A status of 400 or more is an
// *Error.
func (s *Server) Call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	answer, _, err := s.exchange(ctx, method, path, body)
	return answer, err
}

// exchange is Call, and returns the header of the response too.
func (s *Server) exchange(ctx context.Context, method, path string, body any) (json.RawMessage, http.Header, error) {
	var content io.Reader
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, nil, fmt.Errorf("write the request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	if s.Calls != nil {
		fmt.Fprintln(s.Calls, quickstart.Server{API: s.API, Credential: s.Credential()}.Curl(method, path, string(text)))
	}
	request, err := http.NewRequestWithContext(ctx, method, s.API+path, content)
	if err != nil {
		return nil, nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", s.Agent)
	s.authenticate(request)
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, s.unreachable(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return nil, nil, fmt.Errorf("read response: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		err := newError(response.StatusCode, answer)
		if err.Status == http.StatusNotFound && !strings.Contains(s.API, "/api") {
			return nil, nil, fmt.Errorf("%w; the address of an API ends with /api, and %s does not", err, s.API)
		}
		return nil, nil, err
	}
	return answer, response.Header, nil
}

// unreachable describes a request without a response. The error of net/http has method and path, which users of commands do not know.
func (s *Server) unreachable(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	err = fmt.Errorf("reach the server at %s: %w", s.API, err)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w; is it running? `orch server` starts one, and --api-url names another", err)
	}
	return err
}

// Credential is the kind of the server's key.
func (s *Server) Credential() quickstart.Credential {
	switch {
	case s.Key == "":
		return quickstart.None
	case strings.Contains(s.Key, ":"):
		return quickstart.Password
	}
	return quickstart.Key
}

func (s *Server) authenticate(r *http.Request) {
	switch s.Credential() {
	case quickstart.Password:
		user, password, _ := strings.Cut(s.Key, ":")
		r.SetBasicAuth(user, password)
	case quickstart.Key:
		r.Header.Set("Authorization", "Bearer "+s.Key)
	}
}

// Read is Call with a decoded response.
func Read[T any](ctx context.Context, s *Server, method, path string, body any) (T, error) {
	var out T
	answer, err := s.Call(ctx, method, path, body)
	if err != nil {
		return out, err
	}
	if out, err = Decode[T](answer); err != nil {
		return out, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return out, nil
}

// Decode decodes a response of Call.
func Decode[T any](answer json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("decode response: %w", err)
	}
	return out, nil
}
