package pagination

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// errToken means that this server did not issue a page token.
var errToken = errors.New("not a page token of this server")

// token is the start of a page: the position of the last row of the page before it.
//
//	version │ binding │ page number │ count, then for each value: type, length, bytes │ checksum
//
// A token is not secret and not signed: its values are operands of a comparison within the caller's own list.
type token struct {
	binding binding
	// page is the number of the page, for lists with numbered pages; 0 for others.
	page uint64
	// after is the position. A long text is replaced by its digest, with the type longText.
	after query.Position
}

const (
	tokenVersion = 1
	// longText is the type of a digest in a position; BSON does not use it.
	longText bson.Type = 0
	// maxText is the length of a text in bytes up to which a token contains it. URLs and headers have a limited length.
	maxText = 512
	// maxValues bounds the number of values; no sort has more fields.
	maxValues = 8
)

var (
	tokenEncoding = base64.RawURLEncoding.Strict()
	checksums     = crc32.MakeTable(crc32.Castagnoli)
)

// String encodes the token for a header or a URL.
func (t token) String() string {
	b := append(make([]byte, 0, 96), tokenVersion)
	b = append(b, t.binding.operation[:]...)
	b = append(b, t.binding.filter[:]...)
	b = append(b, t.binding.sort[:]...)
	b = binary.AppendUvarint(b, t.page)
	b = append(b, byte(len(t.after)))
	for _, v := range t.after {
		v = shortened(v)
		b = append(b, byte(v.Type))
		b = binary.AppendUvarint(b, uint64(len(v.Value)))
		b = append(b, v.Value...)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, checksums))
	return tokenEncoding.EncodeToString(b)
}

// shortened replaces a long text by its digest.
func shortened(v bson.RawValue) bson.RawValue {
	if v.Type != bson.TypeString || len(v.Value) <= maxText {
		return v
	}
	sum := sha256.Sum256(v.Value)
	return bson.RawValue{Type: longText, Value: sum[:]}
}

// parseToken decodes a token. The error matches errToken.
func parseToken(text string) (token, error) {
	b, err := tokenEncoding.DecodeString(text)
	if err != nil {
		return token{}, errors.Join(errToken, err)
	}
	body := len(b) - crc32.Size
	if body < 1 || b[0] != tokenVersion || binary.BigEndian.Uint32(b[body:]) != crc32.Checksum(b[:body], checksums) {
		return token{}, errToken
	}
	r := tokenReader{rest: b[1:body]}
	var t token
	copy(t.binding.operation[:], r.take(digestSize))
	copy(t.binding.filter[:], r.take(digestSize))
	copy(t.binding.sort[:], r.take(digestSize))
	t.page = r.uvarint()
	n := r.take(1)
	if r.failed || n[0] == 0 || n[0] > maxValues {
		return token{}, errToken
	}
	for range n[0] {
		kind := r.take(1)
		value := r.take(r.uvarint())
		if r.failed || !sortable(bson.Type(kind[0]), value) {
			return token{}, errToken
		}
		t.after = append(t.after, bson.RawValue{Type: bson.Type(kind[0]), Value: bytes.Clone(value)})
	}
	if id := t.after[len(t.after)-1].Type; len(r.rest) > 0 || id == bson.TypeNull || id == longText {
		return token{}, errToken
	}
	return t, nil
}

// sortable reports whether a value is well-formed, and of a type that documents are sorted by.
func sortable(kind bson.Type, value []byte) bool {
	switch kind {
	case longText:
		return len(value) == sha256.Size
	case bson.TypeNull:
		return len(value) == 0
	case bson.TypeString:
		text, ok := bson.RawValue{Type: kind, Value: value}.StringValueOK()
		return ok && len(value) == 4+len(text)+1 && value[len(value)-1] == 0 && utf8.ValidString(text)
	case bson.TypeInt64, bson.TypeDouble:
		return len(value) == 8
	case bson.TypeInt32:
		return len(value) == 4
	case bson.TypeBinary:
		_, data, ok := bson.RawValue{Type: kind, Value: value}.BinaryOK()
		return ok && len(value) == 4+1+len(data)
	}
	return false
}

// tokenReader takes bytes off a token. It yields nothing more once it has failed.
type tokenReader struct {
	rest   []byte
	failed bool
}

func (r *tokenReader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *tokenReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.failed || n <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// matches reports whether a stored position is the token's, by the digests of long texts. A deleted row has a nil position.
func (t token) matches(stored query.Position) bool {
	return slices.EqualFunc(stored, t.after, func(v, own bson.RawValue) bool {
		short := shortened(v)
		return short.Type == own.Type && bytes.Equal(short.Value, own.Value)
	})
}
