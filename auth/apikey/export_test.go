package apikey

func (f Format) Random() Key {
	key, _ := f.Generate()
	return key
}

func (f Format) Parse(text string) (Record, bool) { return f.parse(text) }
func (f Format) Valid() bool                      { return f.valid() }
