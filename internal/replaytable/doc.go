// Package replaytable remembers tags, each until a time of its own. It is the
// memory of a replay store: what is in a table was accepted before.
//
// A Table loses nothing before its end, and drops nothing to make room. It
// has 16 bytes for each entry, and while it grows 70 to 95 percent of them are in
// use. Its entries hold no pointers, so that the garbage collector never looks
// inside.
//
// What an entry means, how many there may be, and locking are left to the
// caller.
package replaytable
