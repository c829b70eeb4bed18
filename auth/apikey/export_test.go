package apikey

func (f Format) Generate() Key { return f.generate() }
func (f Format) Valid() bool   { return f.valid() }
