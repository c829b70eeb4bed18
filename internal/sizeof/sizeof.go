// Package sizeof counts the bytes of values, for pages that are limited in bytes.
package sizeof

import "reflect"

// maxDepth ends a value that contains itself.
const maxDepth = 16

// Use takes from left the bytes of all texts that a value holds, also behind pointers, until nothing
// is left. It does not follow pointers in fields that are not exported.
func Use(left *int, value any) { use(left, reflect.ValueOf(value), maxDepth) }

func use(left *int, v reflect.Value, depth int) {
	switch *left--; v.Kind() {
	case reflect.String:
		*left -= v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && depth > 0 {
			use(left, v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && *left > 0; i++ {
			// What such a field points to need not be the row's, like the zone of a time.
			if f := v.Field(i); v.Type().Field(i).IsExported() || f.Kind() != reflect.Pointer {
				use(left, f, depth-1)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			*left -= v.Len()
			return
		}
		for i := 0; i < v.Len() && *left > 0 && depth > 0; i++ {
			use(left, v.Index(i), depth-1)
		}
	case reflect.Map:
		for entries := v.MapRange(); *left > 0 && depth > 0 && entries.Next(); {
			use(left, entries.Key(), depth-1)
			use(left, entries.Value(), depth-1)
		}
	}
}
