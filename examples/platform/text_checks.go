package main

import (
	"strings"
	"unicode"
)

// isLine reports whether s is one line without control characters. It also refuses
// characters that change the direction of the text after them, because s would look
// like another text.
func isLine(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || '\u202A' <= c && c <= '\u202E' || '\u2066' <= c && c <= '\u2069'
	})
}

// isVisible reports whether s has a visible character.
func isVisible(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsGraphic(c) && !unicode.IsSpace(c) && !unicode.IsMark(c) &&
			!unicode.In(c, unicode.Other_Default_Ignorable_Code_Point)
	})
}

// hasFormat reports whether s has invisible format characters, such as U+200B.
func hasFormat(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return unicode.Is(unicode.Cf, c) })
}
