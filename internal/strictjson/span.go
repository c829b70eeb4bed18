package strictjson

import "strings"

// Span returns the length of the value at the start of text, up to the comma, colon
// or closing bracket after it. Blanks count. If none of these follows, Span returns
// the length of text. It checks nothing: use it for text that was checked before, or
// whose parts will be checked.
func Span(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// endOfString returns the index of the quote that ends the string at i. If there is
// none, it returns the length of text.
func endOfString(text string, i int) int {
	for i++; ; {
		n := strings.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		inside := text[i : i+n]
		i += n
		if n == 0 || inside[n-1] != '\\' {
			return i // the usual case
		}
		if escapes := n - len(strings.TrimRight(inside, `\`)); escapes%2 == 0 {
			return i
		}
		i++
	}
}
