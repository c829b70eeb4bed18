// Package strictjson reads JSON that decides about access: tokens, keys and
// filters. Two programs that read a text differently can be played off against
// each other, so a Reader accepts only what all of them read in one way.
//
// What a Reader accepts, encoding/json accepts with the same values. What it
// refuses beyond encoding/json:
//
//   - a name twice in one object, however it is escaped, unless the caller looks
//     for it. RFC 8259, section 4, leaves open which of them counts, and RFC 7493,
//     section 2.3, forbids it: a check could see one and its user the other;
//   - bytes that are not UTF-8, and half of a surrogate pair. encoding/json makes
//     U+FFFD of both, so that different texts become equal (RFC 7493, section 2.1);
//   - NUL in a string, unless the caller allows it. Some databases cut a text
//     there, others refuse it;
//   - objects and arrays too deep inside each other, and objects with too many
//     members, which a caller bounds.
//
// Names are exact: encoding/json takes another case of a field's name for the
// field. Numbers keep their digits: a float64 does not.
//
// The length of a text is left to the caller, as are the types that it wants.
package strictjson
