// Package access says what roles allow: which scopes the roles of accounts and of workspaces have.
//
//	route ── asks for ──► scope ◄── is had by ── role ◄── is given to ── actor (user or service account)
//
// Scopes are the words that operations name in their (api) option, and fields of their requests in their (rest) option;
// nothing else makes one. The built-in roles are made
// of them by their verbs, so that a new operation is allowed to the right people without a change here.
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

// Set is a set of scopes. It is not changed once it is made.
type Set map[string]bool

// NewSet makes a set.
func NewSet(scopes ...string) Set {
	s := make(Set, len(scopes))
	for _, scope := range scopes {
		s[scope] = true
	}
	return s
}

// Has tells whether the scope is in the set.
func (s Set) Has(scope string) bool { return s[scope] }

// Covers tells whether every scope of the other set is in this one.
func (s Set) Covers(other Set) bool {
	for scope := range other {
		if !s[scope] {
			return false
		}
	}
	return true
}

// Sorted lists the scopes in alphabetical order.
func (s Set) Sorted() []string { return slices.Sorted(maps.Keys(s)) }

// Union is what is in either set.
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

// of reads the scopes of all operations, by realm, from their descriptors.
var of = sync.OnceValue(func() map[orchv1.Realm]Set {
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
		}
	}
	return scopes
})

// GuardedField is a field of a request that takes a scope of its own to set.
type GuardedField struct {
	// Path leads from the request to the field, message by message.
	Path  []protoreflect.FieldDescriptor
	Scope string
}

// Guarded finds the fields of a request that take a scope of their own, at any depth but in lists and maps.
func Guarded(md protoreflect.MessageDescriptor) []GuardedField {
	return guarded(md, nil, map[protoreflect.FullName]bool{})
}

func guarded(md protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor, above map[protoreflect.FullName]bool) []GuardedField {
	if above[md.FullName()] { // Messages may contain themselves.
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

// Set tells whether a request sets the field to anything but its zero value.
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

// Option is what an operation says of itself beside its HTTP binding.
func Option(md protoreflect.MethodDescriptor) *orchv1.RestMethod {
	option, _ := proto.GetExtension(md.Options(), orchv1.E_Api).(*orchv1.RestMethod)
	return option
}

// Scopes are all scopes that operations ask for in a realm.
func Scopes(realm orchv1.Realm) Set { return of()[realm] }

// Self are the scopes that users have on their own profile; programs may only see theirs.
var (
	Self          = NewSet("see_profile", "manage_profile")
	SelfOfProgram = NewSet("see_profile")
)

// verb is the first word of a scope.
func verb(scope string) string {
	v, _, _ := strings.Cut(scope, "_")
	return v
}

// where keeps the scopes of a realm for which keep is true.
func where(realm orchv1.Realm, keep func(scope string) bool) Set {
	s := Set{}
	for scope := range Scopes(realm) {
		if keep(scope) {
			s[scope] = true
		}
	}
	return s
}
