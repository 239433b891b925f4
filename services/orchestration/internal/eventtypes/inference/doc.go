// Package inference infers a JSON Schema from samples of JSON.
//
// The schemas form a lattice: Merge is commutative, associative and idempotent, and every sample of an operand satisfies the result. So
// replicas merge their samples in any order, and a sample that comes again changes nothing.
//
//	types       the union of the types; number includes integer
//	properties  the union of the names; an object with more than maxProperties names, or a long one, is a map with one schema for all values
//	required    the names that all objects of the samples have
//	items       one schema for all items of an array
//	format      uuid or date-time, if all texts have it
//
// Containers within maxDepth others have the schema of any value. No enumeration and no other format is inferred: more samples rarely
// confirm them.
package inference
