//go:build !linux || faultpoints

package main

func hardenProcess() error { return nil }
