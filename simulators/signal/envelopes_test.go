package signal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sim "parley/simulators/signal"
)

func TestG28EnvelopesHaveTheShapesOfSignalCLI(t *testing.T) {
	t.Parallel()
	w := start(t, v013)
	d := w.daemon(func(o *sim.DaemonOptions) { o.ReceiveMode = sim.OnStart })
	must := func(said sim.ActionResult, err error) sim.ActionResult {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	q := fmt.Sprintf("%q", ann.ACI)
	dm := sim.Chat{}
	lines := 0
	// expect compares the part of the next line behind serverDeliveredTimestamp.
	expect := func(name string, said sim.ActionResult, want string) {
		t.Helper()
		lines++
		l := d.journal.await(t, lines)[lines-1]
		_, got, _ := strings.Cut(l, `"serverDeliveredTimestamp":0`)
		got = strings.TrimSuffix(got, `,"account":"`+number+`"}`)
		want = strings.NewReplacer("<T>", fmt.Sprint(said.Timestamp), "<ann>", q).Replace(want)
		if got != want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, want)
		}
	}
	head := `,"dataMessage":{"timestamp":<T>,"message":null,"expiresInSeconds":0,"viewOnce":false`
	group := `"groupInfo":{"groupId":"` + team.Group + `","groupName":"Team","revision":`

	said := must(w.Say(team, ann, "hi", sim.SayOptions{}))
	expect("group", said, strings.Replace(head, "null", `"hi"`, 1)+`,`+group+`1,"type":"DELIVER"}}}`)
	said = must(w.Say(sim.Chat{Group: sim.MadeUpGroup(2)}, ann, "hi", sim.SayOptions{}))
	expect("group without a name", said, strings.Replace(head, "null", `"hi"`, 1)+`,"groupInfo":{"groupId":"`+sim.MadeUpGroup(2)+`","groupName":null,"revision":1,"type":"DELIVER"}}}`)
	said = must(w.Rename(sim.Chat{Group: team.Group, Name: "Crew"}, ann))
	expect("group change", said, head+`,`+strings.Replace(group, "Team", "Crew", 1)+`2,"type":"UPDATE"}}}`)

	first := must(w.Say(dm, ann, "first", sim.SayOptions{}))
	lines++
	said = must(w.Say(dm, ann, "👋 @Parley and @Bob look", sim.SayOptions{
		Mentions: []sim.Mention{{Name: "@Bob", ACI: bob.ACI}, {Name: "@Parley", ACI: "b0700000-0000-4000-8000-000000000001"}},
		Styles:   []sim.Style{{Style: "BOLD", Start: 11, Length: 4}},
	}))
	expect("mentions", said, strings.Replace(head, "null", `"👋 `+"\uFFFC and \uFFFC"+` look"`, 1)+
		`,"mentions":[{"name":"`+bob.ACI+`","number":null,"uuid":"`+bob.ACI+`","start":9,"length":1},`+
		`{"name":"`+number+`","number":"`+number+`","uuid":"b0700000-0000-4000-8000-000000000001","start":3,"length":1}]`+
		`,"textStyles":[{"style":"BOLD","start":11,"length":4}]}}`)
	said = must(w.Say(dm, ann, "answer", sim.SayOptions{Quote: &sim.Quote{Timestamp: first.Timestamp, Author: ann.ACI}}))
	expect("quote", said, strings.Replace(head, "null", `"answer"`, 1)+fmt.Sprintf(`,"quote":{"id":%d,"author":<ann>,"authorNumber":null,"authorUuid":<ann>,"text":"first","attachments":[]}}}`, first.Timestamp))
	said = must(w.Edit(dm, ann, first.Timestamp, "second", sim.SayOptions{}))
	expect("edit", said, fmt.Sprintf(`,"editMessage":{"targetSentTimestamp":%d,"dataMessage":{"timestamp":<T>,"message":"second","expiresInSeconds":0,"viewOnce":false}}}`, first.Timestamp))
	said = must(w.Delete(dm, ann, first.Timestamp))
	expect("delete", said, head+fmt.Sprintf(`,"remoteDelete":{"timestamp":%d}}}`, first.Timestamp))
	said = must(w.Say(dm, ann, "?", sim.SayOptions{Quote: &sim.Quote{Timestamp: first.Timestamp, Author: ann.ACI}}))
	expect("quote of what is deleted", said, strings.Replace(head, "null", `"?"`, 1)+fmt.Sprintf(`,"quote":{"id":%d,"author":<ann>,"authorNumber":null,"authorUuid":<ann>,"text":"","attachments":[]}}}`, first.Timestamp))
	said = must(w.React(dm, ann, sim.Quote{Timestamp: 5, Author: bob.ACI}, "👍", false))
	expect("reaction", said, head+fmt.Sprintf(`,"reaction":{"emoji":"👍","targetAuthor":%[1]q,"targetAuthorNumber":null,"targetAuthorUuid":%[1]q,"targetSentTimestamp":5,"isRemove":false}}}`, bob.ACI))
	said = must(w.Type(team, ann, false))
	expect("typing", said, `,"typingMessage":{"action":"STARTED","timestamp":<T>,"groupId":"`+team.Group+`"}}`)
	said = must(w.Type(dm, ann, true))
	expect("typing stopped", said, `,"typingMessage":{"action":"STOPPED","timestamp":<T>}}`)
	said = must(w.Receipt(dm, ann, "read", 1, 2))
	expect("receipt", said, `,"receiptMessage":{"when":<T>,"isDelivery":false,"isRead":true,"isViewed":false,"timestamps":[1,2]}}`)
	said = must(w.SetTimer(dm, ann, 3600))
	expect("timer", said, strings.Replace(head, `Seconds":0`, `Seconds":3600`, 1)+`}}`)
	said = must(w.Say(dm, ann, "expires", sim.SayOptions{}))
	expect("expiring", said, strings.NewReplacer("null", `"expires"`, `Seconds":0`, `Seconds":3600`).Replace(head)+`}}`)
	must(w.SetTimer(dm, ann, 0))
	lines++
	said = must(w.Story(dm, ann, "my day"))
	expect("story", said, `,"storyMessage":{"allowsReplies":true,"textAttachment":{"text":"my day","style":"DEFAULT"}}}`)
	said = must(w.Say(dm, ann, "", sim.SayOptions{Sticker: "9acc9e8aba563d26a4994e69263e3b25"}))
	expect("sticker", said, head+`,"sticker":{"packId":"9acc9e8aba563d26a4994e69263e3b25","stickerId":1}}}`)
	said = must(w.Say(dm, ann, "", sim.SayOptions{Contacts: []sim.Contact{{Given: "Eve", Number: "+4915550001009", Organization: "Eve Ltd"}}}))
	expect("contact", said, head+`,"contacts":[{"name":{"nickname":null,"given":"Eve","family":null,"prefix":null,"suffix":null,"middle":null},"phone":[{"value":"+4915550001009","type":"MOBILE","label":null}],"organization":"Eve Ltd"}]}}`)
	said = must(w.Say(dm, ann, "", sim.SayOptions{Poll: &sim.Poll{Question: "Tea?", Options: []string{"yes", "no"}}}))
	expect("poll", said, head+`,"pollCreate":{"question":"Tea?","allowMultiple":false,"options":["yes","no"]}}}`)
	said = must(w.Say(dm, ann, "", sim.SayOptions{Payment: &sim.Payment{Note: "for the tea"}}))
	expect("payment", said, head+`,"payment":{"note":"for the tea","receipt":"AQ=="}}}`)
	said = must(w.Synced("", sim.Sync{}))
	expect("empty sync", said, `,"syncMessage":{}}`)
	said = must(w.Synced("", sim.Sync{Text: "from my phone", To: ann.ACI}))
	expect("sync", said, `,"syncMessage":{"sentMessage":{"destination":<ann>,"destinationNumber":null,"destinationUuid":<ann>,"timestamp":<T>,"message":"from my phone","expiresInSeconds":0,"viewOnce":false}}}`)
	said = must(w.Synced("", sim.Sync{Read: &sim.Quote{Timestamp: 9, Author: ann.ACI}}))
	expect("sync of reading", said, `,"syncMessage":{"readMessages":[{"sender":<ann>,"senderNumber":null,"senderUuid":<ann>,"timestamp":9}]}}`)
	said = must(w.Echo("", "own"))
	expect("echo", said, strings.Replace(head, "null", `"own"`, 1)+`}}`)
	said = must(w.Unreadable(dm, ann, "InvalidMessageStructureException", "no"))
	expect("exception", said, `},"account":"`+number+`","exception":{"message":"no","type":"InvalidMessageStructureException"}}`)

	shares := must(w.Say(dm, bob, "hello", sim.SayOptions{}))
	lines++
	want := fmt.Sprintf(`{"envelope":{"source":%[1]q,"sourceNumber":%[1]q,"sourceUuid":%[2]q,"sourceName":"","sourceDevice":1,"timestamp":%d,`, bob.Number, bob.ACI, shares.Timestamp)
	if l := d.journal.await(t, lines)[lines-1]; !strings.HasPrefix(l, want) {
		t.Errorf("who shares the number:\n%s\nnot\n%s", l, want)
	}
	ref, err := w.Inject("", []byte(`{"odd":true}`))
	if err != nil || ref.Account != number {
		t.Fatal(ref, err)
	}
	lines++
	if l := d.journal.await(t, lines)[lines-1]; l != `{"odd":true}` {
		t.Errorf("injected: %s", l)
	}
}

func TestG29ALongTextComesAsAFileAndFilesLieInTheConfigFolder(t *testing.T) {
	t.Parallel()
	w := start(t)
	dir := t.TempDir()
	d := w.daemon(func(o *sim.DaemonOptions) { o.Config = dir })
	long := strings.Repeat("äöü ", 400) // 2800 bytes
	w.say(sim.Chat{}, ann, long, sim.SayOptions{
		Attachments: []sim.Attachment{
			{ContentType: "image/png", Filename: "cat.png", Data: []byte("png"), Caption: "a cat", Width: 3, Height: 4},
			{ContentType: "application/pdf", Data: []byte("lost"), Missing: true},
		},
		Previews: []sim.Preview{{URL: "https://example.org", Image: &sim.Attachment{ContentType: "image/jpeg", Data: []byte("card")}}},
		Quote:    &sim.Quote{Timestamp: 5, Author: bob.ACI, Thumbnail: &sim.Attachment{ContentType: "image/jpeg", Data: []byte("small")}},
		Contacts: []sim.Contact{{Given: "Eve", Avatar: &sim.Attachment{ContentType: "image/jpeg", Data: []byte("face")}}},
	})
	type entry struct {
		Envelope struct {
			DataMessage struct {
				Message     string
				Attachments []struct {
					ContentType, ID string
					Filename        *string
					Size            int
					Width           *int
				}
			}
		}
	}
	m := decode[entry](t, []byte(d.journal.await(t, 1)[0])).Envelope.DataMessage
	if len(m.Message) > 2000 || !strings.HasPrefix(long, m.Message) || len(m.Attachments) != 3 {
		t.Fatalf("%+v", m)
	}
	names, err := os.ReadDir(filepath.Join(dir, "attachments"))
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, n := range names {
		content, err := os.ReadFile(filepath.Join(dir, "attachments", n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if s := string(content); s != long {
			stored = append(stored, s)
		}
	}
	// IncomingMessageHandler downloads pictures of cards, of quotes and of contacts too.
	slices.Sort(stored)
	if want := []string{"card", "face", "png", "small"}; !slices.Equal(stored, want) {
		t.Errorf("stored %q, want %q", stored, want)
	}
	text, cat, lost := m.Attachments[0], m.Attachments[1], m.Attachments[2]
	if text.ContentType != "text/x-signal-plain" || text.Filename != nil || text.Size != len(long) || *cat.Filename != "cat.png" || *cat.Width != 3 {
		t.Errorf("%+v", m.Attachments)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "attachments", text.ID)); err != nil || string(got) != long {
		t.Errorf("the long text: %d bytes %v", len(got), err)
	}
	r := d.call("getAttachment", args{"id": cat.ID, "recipient": ann.ACI})
	if got := decode[struct{ Data []byte }](t, r.Result); string(got.Data) != "png" || filepath.Ext(cat.ID) != ".png" {
		t.Errorf("getAttachment: %s %s", cat.ID, r.Result)
	}
	if r := d.call("getAttachment", args{"id": lost.ID}); r.Error == nil || r.Error.Code != -1 {
		t.Errorf("an attachment that failed: %+v", r)
	}
	if r := d.call("getAttachment", args{"id": "../data/accounts.json"}); r.Error == nil {
		t.Errorf("a path out of the folder: %s", r.Result)
	}
}

func TestPeopleCannotDoTheImpossible(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, do := range map[string]func() error{
		"no ACI": func() error { _, err := w.Say(sim.Chat{}, sim.Person{ACI: "x"}, "x", sim.SayOptions{}); return err },
		"no account": func() error {
			_, err := w.Say(sim.Chat{Account: "+4900000000"}, ann, "x", sim.SayOptions{})
			return err
		},
		"no group id": func() error { _, err := w.Say(sim.Chat{Group: "x"}, ann, "x", sim.SayOptions{}); return err },
		"no name": func() error {
			_, err := w.Say(sim.Chat{}, ann, "x", sim.SayOptions{Mentions: []sim.Mention{{Name: "y", ACI: bob.ACI}}})
			return err
		},
		"no message":    func() error { _, err := w.Edit(sim.Chat{}, ann, 5, "x", sim.SayOptions{}); return err },
		"not deletable": func() error { _, err := w.Delete(sim.Chat{}, ann, 5); return err },
		"not a group":   func() error { _, err := w.Rename(sim.Chat{}, ann); return err },
		"not a member":  func() error { _, err := w.Remove(team, ann, bob.ACI); return err },
		"no receipt":    func() error { _, err := w.Receipt(sim.Chat{}, ann, "seen", 1); return err },
		"not JSON":      func() error { _, err := w.Inject("", []byte("{")); return err },
		"no fault":      func() error { return w.Plan(sim.Fault{Trouble: "nonsense"}) },
		"no such kill":  func() error { _, err := w.Kill("+4900000000"); return err },
		"no such sync":  func() error { _, err := w.Synced("+4900000000", sim.Sync{}); return err },
	} {
		if do() == nil {
			t.Errorf("%s: it can be done", name)
		}
	}
	if b := w.Books(); len(b.Envelopes) != 0 {
		t.Errorf("books: %+v", b.Envelopes)
	}
}
