// Package audit has the entries of an audit log: who did what, in a chain of hashes, so that an auditor
// finds what was changed, cut out or put in another order. Package auth/sqlstore stores such logs, one
// chain for each org.
//
// Each entry has a number, which is its order, and the hash of itself and of the entry before. Times do
// not order: clocks are set back. The address, the agent and the mail are personal. They stand beside
// the chain, which has a commitment to them with a random salt. So they can be erased later, and the
// chain still holds.
//
// # What is not checked
//
// Whoever can write to the database can also write a whole new chain, or cut off the latest entries.
// Only a Head that was kept elsewhere shows this. Sign one regularly with Head.Sign, send the line to a
// place that the database cannot reach, and pass it to the Verifier. Nothing shows whether personal
// fields were erased by Erase or by somebody else, beyond the entry audit.erased.
//
// # Compatibility
//
// Hashes and the lines of Head.Sign are what they are in every later release.
package audit
