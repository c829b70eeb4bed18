package sqllist

// AppendText is what writes the texts of items.
var AppendText = appendText

// Kept returns a struct that was kept for the next request, and puts it back.
func Kept(l *List) []any {
	s := l.scanner.get()
	defer l.scanner.Put(s)
	return s.into
}
