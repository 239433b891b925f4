// Package embeddedmongo is an in-process server of a subset of the MongoDB wire protocol on Pebble. The official driver connects
// to it in memory, or over TCP on loopback, and cannot tell it from a standalone mongod as long as it stays within the subset.
//
//	driver ── in memory or TCP ──▶ wire frames ──▶ command ──▶ plan ──▶ storage ──▶ Pebble
//	                                                 │          │          │
//	                             filter · update · aggregate  indexes   document locks, one batch for a document or for
//	                                                                    some of an insert's, group commit: one sync for
//	                                                                    many writers
//
// # Promises
//
//   - An acknowledged write is on disk (fsync), unless its write concern says {j: false} or {w: 0}.
//   - A document and its index entries change in one batch. Updates, findAndModify included, are atomic on one document.
//   - Writers of different documents do not wait for each other, but for the moment in which a batch of an insert is written; those
//     of one document take turns, and share a sync.
//   - A reply that rests on another's write that is not on disk yet, such as a duplicate key, waits for it too.
//   - What is outside the subset fails with NotImplemented (code 238) and a message that names it. Nothing is ever ignored.
//   - One process owns a directory; a directory of another format is refused and left untouched.
//
// # Subset
//
//	commands      hello (isMaster, ismaster) · ping · buildInfo (buildinfo) · endSessions · refreshSessions · killSessions · find ·
//	              getMore · killCursors · aggregate · count · distinct · insert · update · delete · findAndModify (findandmodify) ·
//	              bulkWrite · create · drop · dropDatabase · listCollections · listDatabases · createIndexes · listIndexes ·
//	              dropIndexes (deleteIndexes) · explain
//	find          filter · sort · projection · skip · limit · batchSize · singleBatch · hint
//	all           maxTimeMS · comment · lsid · readConcern (local, majority, available, linearizable: all the same here) ·
//	              writeConcern (w: 0, 1, majority; j)
//	filters       $eq $ne $gt $gte $lt $lte $in $nin · $and $or $nor $not · $exists $type · $all $elemMatch $size · $mod $regex $options
//	              (RE2 syntax; i, m, s, u) $expr $comment · dotted paths, array positions
//	projections   inclusion · exclusion · _id · $slice · $elemMatch · path.$ · computed fields
//	updates       $set $unset $setOnInsert $inc $mul $min $max $rename $currentDate · $push ($each $slice $position $sort) $addToSet
//	              ($each) $pull $pullAll $pop · $ $[] $[x] with arrayFilters · replacement · pipeline of $set $addFields $unset
//	              $project $replaceRoot $replaceWith · upsert
//	stages        $match $sort $skip $limit $count $project $set $addFields $unset $unwind $group $sortByCount $replaceRoot $replaceWith
//	accumulators  $sum $avg $min $max $first $last $push $addToSet $count $mergeObjects
//	expressions   $add $subtract $multiply $divide $mod $abs $ceil $floor $round $trunc $sqrt $pow $exp $ln $log10 ·
//	              $eq $ne $gt $gte $lt $lte $cmp · $and $or $not · $cond $ifNull $switch $let $literal $expr ·
//	              $year $month $dayOfMonth $dayOfWeek $dayOfYear $hour $minute $second $millisecond $isoWeek $isoWeekYear
//	              $isoDayOfWeek $dateTrunc $dateToString $dateAdd $dateSubtract $dateDiff (UTC) ·
//	              $concat $toLower $toUpper $strLenCP $strLenBytes $substrCP $split $strcasecmp ·
//	              $size $in $isArray $arrayElemAt $concatArrays $slice $first $last $reverseArray $setUnion $map $filter $reduce ·
//	              $mergeObjects $objectToArray $arrayToObject $getField · $sum $avg $min $max ·
//	              $type $isNumber $toString $toInt $toLong $toDouble $toBool $toDate
//	variables     $$ROOT $$CURRENT $$NOW $$REMOVE, and those of $let, $map, $filter, $reduce
//	indexes       ascending, descending, compound, dotted, multikey · unique · sparse · partial · TTL
//	sorts         by paths, nested and through arrays, in MongoDB's order of types
//
// Not in it, and refused by name: transactions, change streams, $lookup and other stages that read a second collection, collations
// other than simple, text, hashed, wildcard and geospatial indexes, capped collections, views, validators, compression,
// authentication, server-side JavaScript, arithmetic on decimal128, the BSON type undefined.
//
// # Planner
//
// An index serves a query by a prefix of equalities and lists ($in is expanded into points), then one range. The order asked for
// comes from the index, forward or backward; with lists, the points are merged. Indexes whose keys end alike are read together,
// for what they have in common, and conditions on fields of a key are tested on it. A plan that finds little reconsiders. Skipped
// results are skipped on keys alone when the bounds are the whole filter. Counts whose bounds are the whole filter read keys
// only, and once such a count had to walk more than a thousand of them, that prefix is counted from then on. Distinct jumps from
// value to value. An index range of more than an eighth of the collection, read without a limit, gives way to a scan. The command
// explain tells the choice.
//
// # Differences from MongoDB
//
// The differential test against SecantusDB (see oracle_test.go) leaves three classes of differences, in all of which MongoDB's
// documentation is with this package: the order of fields created by one update, $all with null, and a range on an array whose
// bounds are met by different elements.
package embeddedmongo
