// Package scope decides what a caller may do from scope chains: dot-separated
// texts such as object.read.c_note.*.title, in the language of section 5.5 of
// the interface. It knows nothing of tokens, HTTP or storage: whoever read the
// chains compiles them to a Set, and asks the Set about a Need.
//
// # Grants and needs
//
// A chain is a grant, and covers every need that begins with it, segment by
// segment:
//
//   - * matches any one segment; trailing stars say nothing and are cut;
//   - x also matches x#t, the same with a type, and never the reverse;
//   - everything else matches itself, byte by byte, letter case included.
//
// So object.read.c_note grants reading every c_note with all its properties,
// and object.read.c_note.*.title grants one property of each. No verb implies
// another, and a property does not grant the object it belongs to. One chain
// must cover the whole need; several do not add up.
//
// With a property, a chain on read shows it, one on update sets and unsets it, and
// one on create makes instances that have nothing but such properties. One on
// delete can match nothing, since an object is deleted whole.
//
// The empty chain covers everything. On the wire it is the empty text; from a
// flag or a variable, where empty means that nothing was said, it is written
// *. A list without chains grants nothing, and so do the zero Set, the zero
// Chain and, asked for, the zero Need.
//
// # The standard grammar
//
//	object . create|read|update|delete|* . name|* . identifier|* . property . …
//	script . route . identifier          script . runner
//	view . execute|* . identifier        deployment . execute|* . identifier
//	admin . read|update
//
// A chain may stop at any point. Object names are 1 to 40 of [a-z0-9_-],
// properties 1 to 40 of [A-Za-z0-9_-] and [] for arrays; both may be followed
// by # and a type in the same letters. The identifier of an object is 24
// hexadecimal digits or a UUID; routes, views and deployments may also have
// names of 1 to 40 of [A-Za-z0-9_-], though no route is called route or runner.
// A star stands for a whole segment and not for a property or a root.
//
// script.execute and all of its forms are other spellings: script.execute is
// script, script.execute.route.x and script.*.x are script.route.x, and
// script.execute.runner is script.runner. They become the canonical chain when
// parsed.
//
// A chain has at most 512 bytes and 32 segments, a list 1024 chains. A Grammar
// adds identifiers of another form, and roots of an embedder's own.
//
// # Choosing
//
// Set.Allows answers for a whole operation, and Set.Overlaps whether any part
// of it is permitted; Set.On gives a list handler what it needs to narrow its
// query and its reply. Set.Explain says why, for a log or an administrator.
// Vet is for those who write chains; Set.Missing tells what one set has beyond
// another, so that nobody hands on more than they hold.
//
// # What is not checked
//
// A scope only limits: whether the subject itself has access to an object is
// for the caller to decide, and so are the access Levels.
//
// # Compatibility
//
// Grammar, Root, Reason and SyntaxError may gain fields: write them with field
// names. That a refusal is a *SyntaxError, or wraps ErrLevel, stays; its text,
// Expected and Hint included, may change.
package scope
