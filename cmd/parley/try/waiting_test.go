package try

import (
	"testing"
	"time"

	"parley/gateway"
)

func TestEveryQuestionIsTakenOutAlsoThoseThatStopLeftWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	turn, said := gateway.Answer{Chat: "1001", Turn: "t"}, gateway.Answer{Chat: "1001"}
	for _, c := range []struct {
		name    string
		asked   []string
		answers []gateway.Answer
		left    int
	}{
		{"a message", []string{"slow"}, []gateway.Answer{turn}, 0},
		{"a message and what it costs meanwhile", []string{"slow", "/cost"}, []gateway.Answer{said}, 1},
		{"both", []string{"slow", "/cost"}, []gateway.Answer{said, turn}, 0},
		{"stopped", []string{"slow", "/stop"}, []gateway.Answer{said}, 0},
		{"stopped too late", []string{"slow", "/stop"}, []gateway.Answer{turn, said}, 0},
		{"stopped with what waits", []string{"slow", "slow", "/new", "/STOP now"}, []gateway.Answer{said}, 0},
		{"said after stop", []string{"slow", "/stop@parley_bot", "hello"}, []gateway.Answer{said}, 1},
		{"stopped, and asked before it was", []string{"slow", "/stop", "/cost"}, []gateway.Answer{said, said}, 0},
		{"twice stopped", []string{"slow", "/stop", "/stop"}, []gateway.Answer{said, said}, 0},
		{"given up", []string{"hello"}, []gateway.Answer{said}, 0},
		{"permitted, which opens a turn", []string{"set it", "/approve AB123"}, []gateway.Answer{turn, turn}, 0},
		{"refused, which opens none", []string{"set it", "/deny@parley_bot AB123"}, []gateway.Answer{turn, said}, 0},
		{"permitted by a wrong code, and said after", []string{"/approve AB123", "hello"}, []gateway.Answer{said}, 1},
		{"a new conversation behind a message", []string{"slow", "/new"}, []gateway.Answer{turn, said}, 0},
		{"an answer that nobody waits for", nil, []gateway.Answer{turn, said}, 0},
		{"in another chat", []string{"slow"}, []gateway.Answer{{Chat: "1002", Turn: "t"}, {Chat: "1002"}}, 1},
	} {
		var w openQuestions
		for _, text := range c.asked {
			w.add("1001", text, time.Now())
		}
		w.add("1002", "never answered", time.Now())
		for _, a := range c.answers {
			w.takeAnswered(a)
		}
		left := 0
		for _, q := range w {
			if q.chat == "1001" {
				left++
			}
		}
		others := len(w) - left
		if left != c.left || others != 1 && c.name != "in another chat" {
			t.Errorf("%s: %d are left, not %d; %d of others", c.name, left, c.left, others)
		}
	}
}

func TestOnlyAMentionOfTheWholeNameIsForTheBot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"@parley_bot hello": true, "hello @Parley_Bot": true, "so,@parley_bot!": true, "/cost@parley_bot": true, "/new@PARLEY_BOT now": true,
		"hello": false, "@parley_bots hello": false, "mail@parley_bot": false, "/cost": false, "say /cost@parley_bot": false,
	} {
		if isForBot(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
