package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/flosch/pongo2/v6"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// operationTag is a group of the API's operations.
type operationTag struct {
	Name       string
	Operations []operation
}

// operation is a line of the list of operations.
type operation struct{ ID, Method, Path, Summary string }

// explorerView is the data of the API explorer. The page lists all operations; a script replaces the list.
type explorerView struct {
	Base string
	Tags []operationTag
}

// operationsOf lists the operations of the API by tag on first use.
func operationsOf(vocab vocabulary.Vocabulary) func() ([]operationTag, error) {
	return sync.OnceValues(func() ([]operationTag, error) {
		document, err := openapi.API(vocab)
		if err != nil {
			return nil, fmt.Errorf("describe the API: %w", err)
		}
		var api struct {
			Paths map[string]map[string]struct {
				ID      string   `json:"operationId"`
				Summary string   `json:"summary"`
				Tags    []string `json:"tags"`
			} `json:"paths"`
		}
		if err := json.Unmarshal(document, &api); err != nil {
			return nil, fmt.Errorf("read the description of the API: %w", err)
		}
		byTag := map[string][]operation{}
		for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
			for _, method := range slices.Sorted(maps.Keys(api.Paths[path])) {
				o := api.Paths[path][method]
				for _, tag := range o.Tags {
					byTag[tag] = append(byTag[tag], operation{ID: o.ID, Method: method, Path: path, Summary: o.Summary})
				}
			}
		}
		var tags []operationTag
		for _, name := range slices.Sorted(maps.Keys(byTag)) {
			tags = append(tags, operationTag{name, byTag[name]})
		}
		return tags, nil
	})
}

// serveDocs serves the page of the API explorer.
func (s *Site) serveDocs(w http.ResponseWriter, r *http.Request) {
	tags, err := s.operations()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	site := frame{Static: s.prefix(r) + s.staticPath, Themes: s.themeChoices(r)}
	s.render(w, r, http.StatusOK, "docs.html", pongo2.Context{"site": site, "v": explorerView{Base: s.prefix(r), Tags: tags}})
}
