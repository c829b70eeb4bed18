package apikey

func (f Format) Random() Key {
	key, _ := f.Generate()
	return key
}

func (f Format) Valid() bool { return f.valid() }
