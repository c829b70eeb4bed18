package sqllist

// AppendText is what writes the texts of items.
var AppendText = appendText

// Kept returns a struct that was kept for the next request, and puts it back.
func Kept(l *List) []any {
	s := l.scanners.Get().(*scanner)
	defer l.scanners.Put(s)
	return s.into
}
