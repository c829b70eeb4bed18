package paging

import "github.com/tenantkit/tenantkit/internal/listing"

// Describe returns what a document of auth/openapi says of the list.
func (s *Schema) Describe() listing.Description {
	d := listing.Description{Key: s, Object: s.Object, ExampleID: s.ExampleID, Count: s.Count}
	d.Default, d.Max = s.limits()
	for _, p := range s.Properties {
		if p.Hidden || !s.Visible(p.Path) {
			continue
		}
		described := listing.Property{Path: p.Path, Type: p.Type.String(), Filter: p.Filter, Sort: p.Sort, Null: p.Null, Values: p.Values}
		if p.List != nil {
			described.List = p.List
		}
		d.Properties = append(d.Properties, described)
	}
	return d
}
