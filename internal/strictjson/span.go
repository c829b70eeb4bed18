package strictjson

import "strings"

// Span returns the length of the value that text begins with, up to the comma,
// colon or closing bracket after it. Blanks count. Where none of these follows, it
// is the length of text. Span checks nothing: it is for text that was checked
// before, or whose parts will be.
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

// endOfString returns where the string that begins at i ends, or the text does.
func endOfString(text string, i int) int {
	for i++; ; {
		n := strings.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		inside := text[i : i+n]
		i += n
		if n == 0 || inside[n-1] != '\\' {
			return i // as nearly all end
		}
		if escapes := n - len(strings.TrimRight(inside, `\`)); escapes%2 == 0 {
			return i
		}
		i++
	}
}
