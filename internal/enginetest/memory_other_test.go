//go:build !linux

package enginetest

func memoryFolder() string { return "" }
