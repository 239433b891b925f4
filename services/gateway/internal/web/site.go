package web

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/flosch/pongo2/v6"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

//go:embed templates
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// Options are the dependencies of a Site.
type Options struct {
	// Caller calls the services; the contexts of requests carry the metadata.
	Caller     rpc.Caller
	Vocabulary vocabulary.Vocabulary
	// Version is the server's version.
	Version string
	// Addresses returns the server's addresses as the client of a request sees them.
	Addresses func(r *http.Request) Addresses
	// Ready returns why the server cannot serve requests, nil when it can.
	Ready func() error
	// Parts returns the state of the process's workers and checks.
	Parts func() []run.Item
	// Authenticated reports whether the server requires credentials.
	Authenticated bool
	Log           *slog.Logger
}

// Addresses are the addresses on the status page.
type Addresses struct {
	Root, API, Hooks string
	// Metrics is empty when unknown.
	Metrics string
}

// Site serves the pages.
type Site struct {
	opts        Options
	templates   *pongo2.TemplateSet
	static      map[string]*asset
	explorer    map[string]*asset
	description *description
}

// New reads the embedded files and compiles every template, so an invalid one is an error here.
func New(opts Options) (*Site, error) {
	s := &Site{opts: opts, description: newDescription(opts.Vocabulary)}
	folder, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	s.templates = pongo2.NewSet("web", pongo2.NewFSLoader(folder))
	for _, name := range []string{"status.html"} {
		if _, err := s.templates.FromCache(name); err != nil {
			return nil, fmt.Errorf("compile the template %s: %w", name, err)
		}
	}
	if s.static, err = assets(staticFiles, "static"); err != nil {
		return nil, err
	}
	if s.explorer, err = assets(openapi.ExplorerFiles, "explorer"); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	path := r.URL.Path
	if path == "/" {
		requestlog.SetRoute(w, "/")
		if readOnly(w, r) {
			s.status(w, r)
		}
		return
	}
	if path == "/docs" || path == "/docs/" {
		path = "/docs/index.html"
	}
	for prefix, files := range map[string]map[string]*asset{"/docs/": s.explorer, "/static/": s.static} {
		if name, found := strings.CutPrefix(path, prefix); found && files[name] != nil {
			requestlog.SetRoute(w, prefix+"{file}")
			files[name].ServeHTTP(w, r)
			return
		}
	}
	requestlog.SetRoute(w, transcode.Unmatched)
	transcode.NotFound(w)
}

// Description responds with the API's OpenAPI document.
func (s *Site) Description(w http.ResponseWriter, r *http.Request) {
	s.description.serve(w, r, func(err error) { s.fail(w, r, err) })
}

// render responds with a page.
func (s *Site) render(w http.ResponseWriter, r *http.Request, name string, values pongo2.Context) {
	template, err := s.templates.FromCache(name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var page bytes.Buffer
	if err := template.ExecuteWriter(values, &page); err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(page.Len()))
	_, _ = w.Write(page.Bytes()) // An error means that the client has disconnected.
}

func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.opts.Log.ErrorContext(r.Context(), "render page", "request_id", requestlog.RequestID(w), "error", err)
	transcode.WriteError(w, &orchv1.HttpError{
		Status: http.StatusInternalServerError,
		Form:   &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Internal Server Error"},
	})
}
