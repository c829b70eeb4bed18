// Package docs has the tests of the documents: that their tables name tests that exist, that their
// text is that of code which is compiled, and that the packages import only what the table of
// arrows allows.
package docs
