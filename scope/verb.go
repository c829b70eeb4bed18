package scope

// Verb is what is done to an object: the second segment of an object or admin
// chain. No verb implies another: who may update may not therefore read.
type Verb string

// The verbs of objects; admin chains know Read and Update.
const (
	Create Verb = "create"
	Read   Verb = "read"
	Update Verb = "update"
	Delete Verb = "delete"
)
