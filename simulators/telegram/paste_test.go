package telegram_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	sim "parley/simulators/telegram"
)

func TestALongPasteIsCutAsClientsCutIt(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	for name, c := range map[string]struct {
		text  string
		sizes []int // in UTF-16 code units
	}{
		"short":                  {"hello", []int{5}},
		"nothing but space":      {" \n ", nil},
		"no place to cut":        {strings.Repeat("x", 9000), []int{4096, 4096, 808}},
		"lines":                  {strings.Repeat(line, 90), []int{3999, 3999, 999}},
		"words":                  {strings.Repeat("seven. ", 1000), []int{4094, 2904}},
		"a paragraph before all": {strings.Repeat("x", 3900) + "\n\n" + strings.Repeat("y z ", 1000), []int{3900, 3999}},
		"a line too far away":    {strings.Repeat("x", 3000) + "\n" + strings.Repeat("y", 3000), []int{4096, 1905}},
		"pairs":                  {"x" + strings.Repeat("😀", 3000), []int{4095, 1906}},
		"exactly full":           {strings.Repeat("x", 4096), []int{4096}},
	} {
		p := start(t)
		said, err := p.Paste(sim.PrivateChat(ann), ann, c.text, sim.SayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		us := p.poll(nil)
		if len(us) != len(c.sizes) || len(said) != len(c.sizes) {
			t.Errorf("%s: %d messages, want %d", name, len(us), len(c.sizes))
			continue
		}
		var all strings.Builder
		for i, u := range us {
			if n := len(utf16.Encode([]rune(u.Message.Text))); n != c.sizes[i] {
				t.Errorf("%s: message %d has %d units, want %d", name, i, n, c.sizes[i])
			}
			all.WriteString(u.Message.Text)
		}
		if strip(all.String()) != strip(c.text) {
			t.Errorf("%s: the parts are not the text", name)
		}
	}
}

func strip(s string) string { return strings.Join(strings.Fields(s), "") }

func TestARestrictedBotMayNotSend(t *testing.T) {
	t.Parallel()
	p := start(t)
	if _, err := p.SetStanding(team, ann, "", "restricted"); err != nil {
		t.Fatal(err)
	}
	if r := p.call("sendMessage", args{"chat_id": team.ID, "text": "hi"}); r.Description != "Bad Request: not enough rights to send text messages to the chat" {
		t.Errorf("%+v", r)
	}
	us := p.poll(nil)
	if len(us) != 1 || us[0].MyChatMember.New.CanSend == nil || *us[0].MyChatMember.New.CanSend {
		t.Errorf("%+v", us)
	}
}
