package listing

// Scheme is one way in which a request carries a credential. Authorization, Headers and Cookie are
// alternatives: set one.
type Scheme struct {
	Name          string   // in the document; "": that of the mechanism
	Authorization string   // the scheme in the Authorization header, like bearer
	Format        string   // of what follows the scheme, like JWT; may be empty
	Headers       []string // all of them are required
	Cookie        string   // {org} stands for the org's code
	Description   string   // for clients; may use Markdown
}
