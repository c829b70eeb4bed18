// Package replaytable remembers tags, each for a time of its own. It is the memory of
// a replay store: a tag in a table stands for something that was accepted before.
//
// A Table keeps each entry until it expires, and drops none to make room. An entry
// takes 16 bytes, and while a table grows, 70 to 95 percent of its memory is in use.
// Entries hold no pointers, so the garbage collector never scans them.
//
// The caller decides what an entry means and how many there may be, and does the
// locking.
package replaytable
