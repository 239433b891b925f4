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

// compile compiles every template of the folder.
func compile() (*pongo2.TemplateSet, error) {
	folder, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	set := pongo2.NewSet("web", loader{folder})
	err = fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = set.FromCache(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("compile the templates: %w", err)
	}
	return set, nil
}
