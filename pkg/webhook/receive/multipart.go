package receive

import (
	"bytes"
	"crypto/sha256"
	hexadecimal "encoding/hex"
	"io"
	"mime"
	"mime/multipart"
)

// maxParts bounds the parts of a multipart form.
const maxParts = 1000

// File describes a file of a multipart form. Its content is not a part of the body that templates see.
type File struct {
	// Name and Type are the filename and the Content-Type that the sender claims.
	Name, Type string
	// Size is the length of the content in bytes, and SHA256 its digest in hexadecimal.
	Size   int64
	SHA256 string
}

// parseMultipart reads multipart/form-data by the rules of parseForm. It reports false for a body that is not such a form, or has
// too many parts.
func parseMultipart(contentType string, raw []byte) ([]Pair, bool) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || parameters["boundary"] == "" {
		return nil, false
	}
	var form formPairs
	reader := multipart.NewReader(bytes.NewReader(raw), parameters["boundary"])
	for range maxParts + 1 {
		part, err := reader.NextRawPart()
		if err == io.EOF { //nolint:errorlint // A wrapped one means that there is no closing delimiter.
			return form.pairs, true
		}
		if err != nil {
			return nil, false
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, false
		}
		form.add(partOf(part, content))
	}
	return nil, false
}

// partOf returns a field with its text, or a file: a part with a filename.
func partOf(part *multipart.Part, content []byte) Pair {
	key := decode([]byte(part.FormName()), nil)
	contentType := part.Header.Get("Content-Type")
	if name := part.FileName(); name != "" {
		sum := sha256.Sum256(content)
		return Pair{Key: key, File: &File{
			Name: decode([]byte(name), nil), Type: decode([]byte(contentType), nil), Size: int64(len(content)), SHA256: hexadecimal.EncodeToString(sum[:]),
		}}
	}
	_, charset := mediaType(contentType)
	return Pair{Key: key, Value: decode(content, charsetOf(charset))}
}
