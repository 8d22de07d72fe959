//go:build !linux

package documents_test

import "os"

func exit(status int) { os.Exit(status) }
