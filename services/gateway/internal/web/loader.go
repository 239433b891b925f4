package web

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"

	"github.com/flosch/pongo2/v6"
)

// loader resolves all template names from the root of the folder, wherever they are included.
type loader struct{ files fs.FS }

// Abs implements pongo2.TemplateLoader.
func (loader) Abs(_, name string) string { return name }

// Get implements pongo2.TemplateLoader.
func (l loader) Get(path string) (io.Reader, error) {
	content, err := fs.ReadFile(l.files, path)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return bytes.NewReader(content), nil
}

// templates returns the templates of the folder. Each is compiled when a page first needs it: together they hold 3 MB. A test compiles
// all of them.
func templates() (*pongo2.TemplateSet, error) {
	folder, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	return pongo2.NewSet("web", loader{folder}), nil
}
