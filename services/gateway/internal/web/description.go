package web

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// description is the API's OpenAPI document, generated on first use.
type description struct {
	make func() (*asset, error)
}

func newDescription(vocab vocabulary.Vocabulary) *description {
	return &description{make: sync.OnceValues(func() (*asset, error) {
		document, err := openapi.API(vocab)
		if err != nil {
			return nil, fmt.Errorf("describe the API: %w", err)
		}
		return newAsset("application/json", document)
	})}
}

func (d *description) serve(w http.ResponseWriter, r *http.Request, fail func(error)) {
	document, err := d.make()
	if err != nil {
		fail(err)
		return
	}
	document.ServeHTTP(w, r)
}
