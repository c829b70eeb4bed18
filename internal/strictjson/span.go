package strictjson

// Span returns the length of the value at the start of text, up to the comma, colon
// or closing bracket after it. Blanks count. If none of these follows, Span returns
// the length of text. It checks nothing: use it for text that was checked before, or
// whose parts will be checked.
func Span(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
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
