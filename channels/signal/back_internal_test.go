package signal

import (
	"encoding/json"
	"testing"

	"parley/channels"
)

// firstday S9: an admin takes back the message of somebody else; signal-cli names its
// time once or twice (JsonAdminDelete of 0.14).
func TestWhatAnAdminTakesBackIsOfItsAuthor(t *testing.T) {
	t.Parallel()
	const author = "00000000-0000-4000-8000-000000000002"
	for name, c := range map[string]struct {
		raw, want string
		kind      channels.EventKind
	}{
		"before":     {`{"adminDelete":{"targetAuthorUuid":"` + author + `","targetSentTimestamp":5}}`, messageID(5, author), channels.Deleted},
		"now":        {`{"adminDelete":{"targetAuthorUuid":"` + author + `","targetTimestamp":5,"targetSentTimestamp":5}}`, messageID(5, author), channels.Deleted},
		"of nobody":  {`{"adminDelete":{"targetTimestamp":5}}`, "its own", channels.Unhandled},
		"of no time": {`{"remoteDelete":{}}`, "its own", channels.Unhandled},
	} {
		var d dataMessage
		if err := json.Unmarshal([]byte(c.raw), &d); err != nil {
			t.Fatal(err)
		}
		r := receiver{Channel: &Channel{people: &people{}}}
		m := channels.Message{Kind: channels.Unhandled, MessageID: "its own", Sender: channels.Sender{ID: "admin"}}
		r.fillDeletion(&m, &d)
		if m.Kind != c.kind || m.MessageID != c.want || m.Problem == "" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
