// Package strictjson reads JSON that access decisions depend on: tokens, keys and
// filters. If two programs read a text differently, an attacker can exploit the
// difference. So a Reader accepts only texts that all programs read in one way.
//
// encoding/json also accepts every text that a Reader accepts, with the same values.
// In addition to what encoding/json refuses, a Reader refuses:
//
//   - A name that occurs twice in one object, however it is escaped, unless the
//     caller checks this itself. RFC 8259, section 4, leaves open which of them
//     counts, and RFC 7493, section 2.3, forbids it. A check could read one value,
//     and the code behind it the other.
//   - Bytes that are not UTF-8, and half of a surrogate pair. encoding/json replaces
//     both by U+FFFD, so that different texts become equal (RFC 7493, section 2.1).
//   - NUL in a string, unless the caller allows it. Some databases cut a text there,
//     others refuse it.
//   - Objects and arrays that are nested too deeply, and objects with too many
//     members. The caller sets these limits.
//
// Names are case-sensitive, while encoding/json ignores the case of field names.
// Numbers keep all their digits, which a float64 does not.
//
// The caller bounds the length of a text, and checks the types of its values.
package strictjson
