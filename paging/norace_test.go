//go:build !race

package paging_test

const raceEnabled = false
