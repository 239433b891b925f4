package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// asset is an embedded file, constant while the server runs.
type asset struct {
	contentType string
	etag        string
	plain       []byte
	compressed  []byte // Empty if compression does not shrink the file.
}

func newAsset(contentType string, plain []byte) (*asset, error) {
	sum := sha256.Sum256(plain)
	a := &asset{contentType: contentType, plain: plain, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(plain); err != nil {
		return nil, fmt.Errorf("compress an asset: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress an asset: %w", err)
	}
	if small.Len() < len(plain) {
		a.compressed = small.Bytes()
	}
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !readOnly(w, r) {
		return
	}
	header := w.Header()
	header.Set("ETag", a.etag)
	if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", "no-cache") // Browsers revalidate it; the ETag makes that cheap.
	}
	header.Set("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	header.Set("Content-Type", a.contentType)
	if a.compressed != nil && transcode.AcceptsGzip(r.Header) {
		header.Set("Content-Encoding", "gzip")
		body = a.compressed
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // An error means that the client has disconnected.
}

func matches(ifNoneMatch, etag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}

// assets reads a folder of embedded files into assets by name.
func assets(files fs.FS, folder string) (map[string]*asset, error) {
	found := map[string]*asset{}
	err := fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		found[strings.TrimPrefix(name, folder+"/")], err = newAsset(typeOf(name), content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the embedded folder %s: %w", folder, err)
	}
	return found, nil
}

// hashOf returns a name for the content of all files. A changed file has a new address, so browsers keep files forever.
func hashOf(files map[string]*asset) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(sum, "%s %s\n", name, files[name].etag) // A hash never returns an error.
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// typeOf returns fixed content types instead of the machine's own table.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
