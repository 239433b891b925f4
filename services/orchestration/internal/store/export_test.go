package store

// StartIndexesWithin is StartIndexes with another time to wait.
var StartIndexesWithin = (*Store).startIndexes
