package policy

import (
	"testing"

	"parley/channels"
	"parley/sessionkeys"
)

// G27. Of most people only one id is known: that they have no other is nobody's id,
// whatever stands in the list.
func TestAnEmptyIDListsNobody(t *testing.T) {
	t.Parallel()
	m := channels.Message{Sender: channels.Sender{ID: "1"}, Address: sessionkeys.Address{Kind: sessionkeys.DM}}
	if v := (Access{People: []string{""}}).Authorize(m, NoRuling); v.Allowed {
		t.Error("somebody without a second id is listed as nobody")
	}
}
