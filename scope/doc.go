// Package scope decides what a caller may do from scope chains: dot-separated
// texts such as object.read.c_note.*.title, as section 5.5 of the interface
// defines them.
package scope
