package main

import (
	"strings"
	"unicode"
)

// isLine tells of a text that is one line, and looks like what it is: it has no
// control characters, and none that turn the direction of what follows.
func isLine(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || '\u202A' <= c && c <= '\u202E' || '\u2066' <= c && c <= '\u2069'
	})
}

// isVisible tells of a text in which there is something to see.
func isVisible(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsGraphic(c) && !unicode.IsSpace(c) && !unicode.IsMark(c) &&
			!unicode.In(c, unicode.Other_Default_Ignorable_Code_Point)
	})
}

// hasFormat tells of characters that are not to be seen, such as U+200B.
func hasFormat(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return unicode.Is(unicode.Cf, c) })
}
