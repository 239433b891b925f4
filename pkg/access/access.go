// Package access defines permissions: the scopes of account roles and workspace roles.
//
//	route ── asks for ──► scope ◄── is had by ── role ◄── is given to ── actor (user or service account)
//
// Operations name their scopes in their (api) option, and fields of their requests in their (rest) option; there is no
// other list. The built-in roles derive from them by verb, so a new operation needs no change here.
package access

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Set is an immutable set of scopes.
type Set map[string]bool

// NewSet returns a set of the scopes.
func NewSet(scopes ...string) Set {
	s := make(Set, len(scopes))
	for _, scope := range scopes {
		s[scope] = true
	}
	return s
}

// includedIn has the scopes that another one includes: who may replace a webhook's address gets to know it.
var includedIn = map[string]string{"read_webhook_addresses": "manage_webhooks"}

// Has reports whether a set has the scope, or a scope that includes it.
func (s Set) Has(scope string) bool { return s[scope] || s[includedIn[scope]] }

// Covers reports whether the set contains every scope of other.
func (s Set) Covers(other Set) bool {
	for scope := range other {
		if !s.Has(scope) {
			return false
		}
	}
	return true
}

// Sorted returns the scopes in alphabetical order.
func (s Set) Sorted() []string { return slices.Sorted(maps.Keys(s)) }

// Union returns the scopes of both sets.
func Union(a, b Set) Set {
	if a.Covers(b) {
		return a
	}
	if b.Covers(a) {
		return b
	}
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// byRealm reads the scopes of all operations by realm from their descriptors.
var byRealm = sync.OnceValue(func() map[orchv1.Realm]Set {
	scopes := map[orchv1.Realm]Set{}
	for _, sd := range openapi.Services() {
		for i := range sd.Methods().Len() {
			md := sd.Methods().Get(i)
			option := Option(md)
			if option.GetScope() == "" {
				continue
			}
			if scopes[option.GetRealm()] == nil {
				scopes[option.GetRealm()] = Set{}
			}
			scopes[option.GetRealm()][option.GetScope()] = true
			for _, guarded := range Guarded(md.Input()) {
				scopes[option.GetRealm()][guarded.Scope] = true
			}
			for scope := range Masked(md.Output()) {
				scopes[option.GetRealm()][scope] = true
			}
		}
	}
	return scopes
})

// GuardedField is a request field that requires a scope of its own.
type GuardedField struct {
	// Path leads from the request to the field, message by message.
	Path  []protoreflect.FieldDescriptor
	Scope string
}

// Guarded returns the fields of a request that require a scope of their own, at any depth except in lists and maps.
func Guarded(md protoreflect.MessageDescriptor) []GuardedField {
	return guarded(md, nil, map[protoreflect.FullName]bool{})
}

func guarded(md protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor, above map[protoreflect.FullName]bool) []GuardedField {
	if above[md.FullName()] { // Messages may be recursive.
		return nil
	}
	above[md.FullName()] = true
	defer delete(above, md.FullName())
	var found []GuardedField
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		to := append(slices.Clip(path), fd)
		if scope := restjson.Options(fd).GetScope(); scope != "" {
			found = append(found, GuardedField{Path: to, Scope: scope})
		}
		if fd.Message() != nil && !fd.IsList() && !fd.IsMap() {
			found = append(found, guarded(fd.Message(), to, above)...)
		}
	}
	return found
}

// Masked returns the scopes that callers need to read fields of a response unmasked. The services mask them.
func Masked(md protoreflect.MessageDescriptor) Set {
	found := Set{}
	masked(md, found, map[protoreflect.FullName]bool{})
	return found
}

func masked(md protoreflect.MessageDescriptor, found Set, seen map[protoreflect.FullName]bool) {
	if seen[md.FullName()] {
		return
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if scope := restjson.Options(fd).GetScope(); scope != "" {
			found[scope] = true
		}
		if fd.Message() != nil {
			masked(fd.Message(), found, seen)
		}
	}
}

// Set reports whether a request sets the field to a non-zero value.
func (g GuardedField) Set(request protoreflect.Message) bool {
	last := len(g.Path) - 1
	for _, fd := range g.Path[:last] {
		if !request.Has(fd) {
			return false
		}
		request = request.Get(fd).Message()
	}
	fd := g.Path[last]
	return request.Has(fd) && !request.Get(fd).Equal(fd.Default())
}

// Option returns the (api) option of an operation.
func Option(md protoreflect.MethodDescriptor) *orchv1.RestMethod {
	option, _ := proto.GetExtension(md.Options(), orchv1.E_Api).(*orchv1.RestMethod)
	return option
}

// Scopes returns all scopes that operations of a realm require.
func Scopes(realm orchv1.Realm) Set { return byRealm()[realm] }

// Self returns the scopes of users on their own profile; service accounts may only read theirs.
var (
	Self          = NewSet("see_profile", "manage_profile")
	SelfOfProgram = NewSet("see_profile")
)

// ReadOnly reports whether operations with a scope only read.
func ReadOnly(scope string) bool { return verb(scope) == "see" }

// verb is the first word of a scope.
func verb(scope string) string {
	v, _, _ := strings.Cut(scope, "_")
	return v
}

// where returns the scopes of a realm that satisfy keep.
func where(realm orchv1.Realm, keep func(scope string) bool) Set {
	s := Set{}
	for scope := range Scopes(realm) {
		if keep(scope) {
			s[scope] = true
		}
	}
	return s
}
