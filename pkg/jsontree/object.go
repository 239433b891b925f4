package jsontree

import "slices"

// linearMembers is the number of members up to which a linear search is as fast as a map.
const linearMembers = 16

// Object is a JSON object with its members in order. The zero value is an empty object, and methods that read accept a nil one.
// It is not safe for concurrent writes.
type Object struct {
	members []Member
	index   map[string]int // Positions by key; nil up to linearMembers.
}

// Member is one entry of an object.
type Member struct {
	Key   string
	Value Value
}

// NewObject returns an object that owns members. Their keys must differ.
func NewObject(members ...Member) *Object {
	o := &Object{members: members}
	o.reindex()
	return o
}

// Len returns the number of members.
func (o *Object) Len() int { return len(o.Members()) }

// Members returns the members in order. The caller must not change them. The slice is valid until the next Delete.
func (o *Object) Members() []Member {
	if o == nil {
		return nil
	}
	return o.members
}

// Get returns the value of a member, and whether the member exists.
func (o *Object) Get(key string) (Value, bool) {
	if at := o.find(key); at >= 0 {
		return o.members[at].Value, true
	}
	return nil, false
}

// Object returns the value of a member if it is an object, else nil.
func (o *Object) Object(key string) *Object {
	v, _ := o.Get(key)
	object, _ := v.(*Object)
	return object
}

// Text returns the value of a member if it is a string, else "".
func (o *Object) Text(key string) string {
	v, _ := o.Get(key)
	text, _ := v.(string)
	return text
}

// Set replaces the value of a member in its position, or adds the member at the end.
func (o *Object) Set(key string, value Value) {
	if at := o.find(key); at >= 0 {
		o.members[at].Value = value
		return
	}
	o.members = append(o.members, Member{key, value})
	switch {
	case o.index != nil:
		o.index[key] = len(o.members) - 1
	case len(o.members) > linearMembers:
		o.reindex()
	}
}

// Delete removes a member if it exists.
func (o *Object) Delete(key string) {
	if at := o.find(key); at >= 0 {
		o.members = slices.Delete(o.members, at, at+1)
		o.reindex()
	}
}

// Clone returns an object with the same members. It shares their values with o.
func (o *Object) Clone() *Object { return NewObject(slices.Clone(o.Members())...) }

// find returns the position of a member, or -1.
func (o *Object) find(key string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if at, ok := o.index[key]; ok {
			return at
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].Key == key {
			return i
		}
	}
	return -1
}

// reindex rebuilds the index if the object is large enough to have one.
func (o *Object) reindex() {
	o.index = nil
	if len(o.members) <= linearMembers {
		return
	}
	o.index = make(map[string]int, len(o.members))
	for i, m := range o.members {
		o.index[m.Key] = i
	}
}
