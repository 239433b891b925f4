// Package query turns the contract's filter messages into MongoDB filters, its sorts into sort documents, and says which
// indexes both need.
//
//	FlowRunQuery ──NewPlan──▶ Plan ──Resolver.Select──▶ Selection ──Page, Count──▶ documents
//	   own filter    │      tree of     semi-joins       one MongoDB filter,
//	   related ones  │      criteria    by distinct      probes for what was too broad
//	                 ▼
//	         Compile: one filter message, by descriptor
//
// # Filters
//
// A field of a filter message speaks of the document field of its name, or of (rest).path; nested messages make dotted
// paths (state.type); fields that end in "_" are operators:
//
//	any_          one of; for a list: any item. [] matches nothing.
//	not_any_      none of. Like SQL's NOT IN it leaves out documents without the field, unless the list is empty.
//	all_          the list holds all of them. [] matches everything.
//	eq_, ne_      equal, not equal. ne_ leaves out documents without the field, as SQL does.
//	is_null_      true: the field is absent, or the list empty; false: the contrary.
//	exists_       the contrary of is_null_.
//	before_       at or before; le_ likewise.
//	after_        at or after; ge_ likewise.
//	like_         the text is a part of the value, in any case. % stands for any run of characters, as clients of the
//	              reference write it; every other character for itself, _ too, of which names are full.
//	startswith_   the value begins with one of the texts, in any case. [] matches nothing.
//
// `operator` joins the criteria of its own message; and_ when it is unspecified. An unset criterion is absent; a set
// message without criteria matches everything, and so does or_ without criteria. Operands are stored forms made by
// protobson; they are values in every place, and no key of a filter comes from a request.
//
// # Related filters
//
// A filter on another collection means that a related document exists. Filters that share a way share the document:
// flows with flow_runs and task_runs are flows with a run that matches the first and has a task run that matches the
// second. The ids on the far side are fetched and become `$in`. Beyond Resolver.MaxIDs the join is turned round: the
// near side is streamed in its order, and each batch is probed on the far side until the page is full. Where that is
// impossible (below or_) or takes more than Resolver.MaxScanned documents, the answer is ErrTooBroad, never a part of
// the truth.
//
// # Events
//
// EventFilter has a grammar of its own; see CompileEvents.
package query
