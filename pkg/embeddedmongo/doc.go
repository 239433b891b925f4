// Package embeddedmongo is an in-process server of a subset of the MongoDB wire protocol on Pebble. The official driver connects
// to it in memory, or over TCP on loopback. Within the subset it behaves like a mongod.
//
//	driver ── in memory or TCP ──▶ wire frames ──▶ command ──▶ plan ──▶ storage ──▶ Pebble
//	                                                 │          │          │
//	                             filter · update · aggregate  indexes   document locks, one batch for a document or for
//	                                                                    some of an insert's, group commit: one sync for
//	                                                                    many writers
//
// # Promises
//
//   - An acknowledged write is on disk (fsync), unless its write concern is {j: false} or {w: 0}.
//   - Clients read and write during an index build; queries use the index once it is complete.
//   - A document and its index entries change in one batch. Updates, findAndModify included, are atomic on one document.
//   - Writers of different documents do not block each other, except while an insert batch is applied. Writers of one document are
//     serialized and share a sync.
//   - A reply that depends on another writer's unsynced write, such as a duplicate key, waits for that sync too. So do reads with
//     the concern majority or linearizable: after a crash nobody has read a write that does not exist.
//   - A feature outside the subset fails with NotImplemented (code 238) and a message that names it. No option is ignored.
//   - Long reads take turns in half of the processors, so they do not delay short commands.
//   - One process owns a directory. Open rejects a directory of another format and leaves it untouched.
//   - It rejects what MongoDB rejects: conditions of partial indexes with negations (67), sorts by parallel arrays (2), colliding
//     projection paths (31249, 31250), a 65th index (67), documents above 16 MiB (2, 17419, 10334) or nested deeper than 100 (15).
//
// # Subset
//
//	commands      hello (isMaster, ismaster) · ping · buildInfo (buildinfo) · endSessions · refreshSessions · killSessions · find ·
//	              getMore · killCursors · aggregate · count · distinct · insert · update · delete · findAndModify (findandmodify) ·
//	              create · drop · dropDatabase · listCollections · listDatabases · createIndexes · listIndexes ·
//	              dropIndexes (deleteIndexes) · explain · configureFailPoint
//	passwords     SCRAM-SHA-256, by saslStart and saslContinue, on a listener with a password
//	find          filter · sort · projection · skip · limit · batchSize · singleBatch · hint · returnKey (numbers are doubles)
//	all           maxTimeMS · comment · lsid · readConcern (local = available; majority = linearizable: data on disk) ·
//	              writeConcern (w: 0, 1, majority; j)
//	filters       $eq $ne $gt $gte $lt $lte $in $nin · $and $or $nor $not · $exists $type · $all $elemMatch $size · $mod $regex $options
//	              (RE2 syntax; i, m, s, u) $comment · dotted paths, array positions
//	projections   inclusion · exclusion · _id · $slice · $elemMatch · path.$
//	updates       $set $unset $setOnInsert $inc $mul $min $max $rename $currentDate · $push ($each $slice $position $sort) $addToSet
//	              ($each) $pull $pullAll $pop · $ $[] $[x] with arrayFilters · replacement · upsert
//	stages        $match $sort $skip $limit $count $project $group
//	accumulators  $sum $min $max $count
//	expressions   $add $subtract $multiply $divide $floor · $eq $ne $gt $gte $lt $lte · $and $or $not $in · $cond $ifNull $literal · $sum $min $max
//	indexes       ascending, descending, compound, dotted, multikey · unique · sparse · partial · TTL
//	sorts         by paths, nested and through arrays, in MongoDB's order of types
//
// With Options.TestCommands, configureFailPoint makes commands fail as MongoDB's fail point failCommand does: errorCode, errorLabels,
// writeConcernError, closeConnection. Without it the command is rejected.
//
// Not in the subset, and rejected by name: transactions, change streams, $lookup and other stages that read a second collection; collations
// other than simple; text, hashed, wildcard and geospatial indexes; capped collections, views and validators; compression,
// other authentication, server-side JavaScript; arithmetic on decimal128, and the BSON type undefined.
//
// # Planner
//
// An index serves a query by a prefix of equalities and lists ($in expands into points), then one range. The sort order comes
// from the index, forward or backward; the points of lists are merged. Conditions on key fields are tested on the key, also within
// merges. When the bounds express the whole filter, skip and count read keys only. Distinct is a skip scan. A hint decides the index; it is an error
// if the index may lack matches. Without one the index with the most points is read: no plan depends on the data. A command plans and reads one
// state of a collection, with its indexes; concurrent writes and drops do not change it. The command explain describes the plan.
//
// # Differences from MongoDB
//
// The recorded replies of a MongoDB 4.4 server in testdata are all reproduced; vectors_test.go would list exceptions. Features of
// later versions are those of 6.0 and 7.0: $or and $in in partial indexes, an empty $set.
//
// The differential test against SecantusDB (oracle_test.go) leaves three classes of differences, in all of which MongoDB's
// documentation agrees with this package: the order of fields created by one update, $all with null, and a range on an array whose
// bounds different elements satisfy.
package embeddedmongo
