package apikey

func ID(k Key) string { return idOf(k) }

func (f Format) Random() Key {
	key, _ := f.Generate()
	return key
}

func (f Format) Parse(text string) (Key, bool) { return f.parse(text) }
func (f Format) Valid() bool                   { return f.valid() }
