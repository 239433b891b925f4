// Package query compiles the contract's filter messages into MongoDB filters and its sorts into sort documents. It also
// lists the indexes that both need.
//
//	FlowRunQuery ──NewPlan──▶ Plan ──Resolver.Select──▶ Selection ──Page, Count──▶ documents
//	   own filter    │      tree of     far side first   one MongoDB filter,
//	   related ones  │      criteria    by ids, else     probes for what was too broad
//	                 ▼
//	         Compile: one filter message, by descriptor
//
// # Filters
//
// A field of a filter message refers to the document field of its name, or of the option (rest).path. Nested messages
// form dotted paths (state.type). Fields that end in "_" are operators:
//
//	any_          one of; for a list: any item. [] matches nothing.
//	not_any_      none of. Like SQL's NOT IN it excludes documents without the field, unless the list is empty.
//	all_          the list holds all of them. [] matches everything.
//	eq_, ne_      equal, not equal. ne_ excludes documents without the field, as SQL does.
//	is_null_      true: the field is absent, or the list empty; false: the contrary.
//	exists_       the contrary of is_null_.
//	before_       at or before; le_ likewise.
//	after_        at or after; ge_ likewise.
//	like_         the value contains the text, ignoring case. % matches any sequence of characters, as in the reference;
//	              every other character matches itself, also _, which names often contain.
//	startswith_   the value begins with one of the texts, ignoring case. [] matches nothing.
//
// `operator` joins the criteria of its own message; unspecified means and_. An unset criterion is absent. A set message
// without criteria matches everything; so does or_ without criteria. protobson encodes operands in their stored form.
// They only ever become values: no key of a filter comes from a request.
//
// # Related filters
//
// A filter on another collection means that a related document exists. Filters that share a route share the document:
// flows with flow_runs and task_runs are flows with a run that matches the first and has a task run that matches the
// second. If at most Resolver.MaxIDs documents of the far side match, the ids to which they refer become `$in` on the near side. Else
// the near side is read in its order, and each batch is probed in the far side by the index of the reference: of a flow or a deployment
// by the first match, of others by a list of references. The result is ErrTooBroad, never a partial result, where this is impossible:
// below or_, or beyond Resolver.MaxPaged documents for a page, and Resolver.MaxCounted for a count or an aggregation.
//
// # Events
//
// EventFilter has its own grammar; see CompileEvents.
package query
