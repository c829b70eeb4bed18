package paging

import "net/url"

// maxLink is the longest Link header in bytes. Proxies refuse a reply whose headers
// exceed a few KiB.
const maxLink = 2048

// NextLink returns the value of a Link header (RFC 8288) for the page after an item:
//
//	<https://api.example.com/acme/v2/c_notes?limit=2&where=…>; rel="next"
//
// list is the external URL of the list, from the configuration and never from the Host
// header. rawQuery is that of the request, which Parse must have accepted. The link has
// all of its parameters but skip and count, and where with the cursor of the item. It has
// nothing that a server added with Query.And.
//
// last returns the properties of the last item of the page, as for Compare. It is asked
// for the keys of the sort, which the caller may read, or false for those that are missing.
//
// NextLink returns "" if there is no such link: if it or rawQuery is longer than 2048 bytes, if a value
// of last is an array or an object, if a filter may not name a key of the sort, or if list
// is no URL. Clients then make the where themselves, or use skip.
func (s *Schema) NextLink(list, rawQuery string, last func(path string) (value any, ok bool)) string {
	if len(rawQuery) > maxLink {
		return ""
	}
	// From the request again, because the query of a handler has the server's conditions.
	q, err := s.Parse(rawQuery, everyPath)
	if err != nil {
		return ""
	}
	values, ok := cursorValues(q.Order(), last)
	if !ok {
		return ""
	}
	if q, err = q.After(values...); err != nil {
		return ""
	}
	parameters, _ := url.ParseQuery(rawQuery) // as Parse read it
	parameters.Set("where", q.whereText())
	parameters.Del("skip")
	parameters.Del("count")
	u, err := url.Parse(list)
	if err != nil {
		return ""
	}
	u.RawQuery = parameters.Encode()
	link := "<" + u.String() + `>; rel="next"`
	if len(link) > maxLink {
		return ""
	}
	// The canonical form of a filter can be deeper than what was sent, and so too deep.
	if _, err := s.Parse(u.RawQuery, everyPath); err != nil {
		return ""
	}
	return link
}

func everyPath(string) bool { return true }

// cursorValues returns the values of an item for the keys of a sort. ok is false if one of
// them has no order.
func cursorValues(order []Key, item func(path string) (value any, ok bool)) (values []any, ok bool) {
	for _, key := range order {
		value, known := item(key.Path)
		if !known {
			value = nil
		}
		o := comparand(value)
		if o.kind == other {
			return nil, false
		}
		values = append(values, o.any())
	}
	return values, true
}
