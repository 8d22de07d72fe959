package memtest_test

import (
	"testing"

	"parley/sessions"
	"parley/sessions/memtest"
	"parley/sessions/sessiontest"
)

func TestTheSpecificationSaysWhatTheDriversSay(t *testing.T) {
	t.Parallel()
	sessiontest.Only(t, func(*testing.T) sessions.Store { return memtest.New(memtest.Every) },
		"dispatch", "workers", "order", "generations", "controls", "turns", "gathering", "joining", "messages",
		"fences", "repeats", "hierarchy", "money", "budgets", "outbox", "chats", "records", "erasures", "history")
}
