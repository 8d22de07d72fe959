package faulttest_test

import (
	"os"
	"testing"

	"parley/gateway/faulttest"
)

func TestMain(m *testing.M) { os.Exit(faulttest.Main(m)) }
