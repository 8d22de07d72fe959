package telegram_test

import (
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/telegram"
	sim "parley/simulators/telegram"
)

// What an examination finds of a bot, by the ids of the findings; and that it receives nothing.
func TestExamine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*telegram.Options)
		reads  bool
		want   string
	}{
		"a bot with privacy mode off": {func(o *telegram.Options) { o.Groups = true }, true, "telegram.account"},
		"with privacy mode on":        {func(o *telegram.Options) { o.Groups = true }, false, "telegram.account telegram.privacy"},
		"with privacy mode on, alone": {func(*telegram.Options) {}, false, "telegram.account"},
		"a token that is not known":   {func(o *telegram.Options) { o.Token = channels.NewSecret("42:unknown") }, true, "telegram.token"},
		"an address where nobody is":  {func(o *telegram.Options) { o.APIURL = "http://127.0.0.1:1" }, true, "telegram.unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRigWith(t, func(o *sim.Options) { o.Bots[0].CanReadAllGroupMessages = c.reads })
			r.say(t, sim.PrivateChat(ann), ann, "hi", sim.SayOptions{})
			ch := r.open(t, c.change)
			var ids []string
			for _, f := range ch.Examine(t.Context()) {
				ids = append(ids, f.ID)
				if strings.Contains(f.Detail, "unknown") || strings.Contains(f.Detail, token) {
					t.Errorf("the token is in %q", f.Detail)
				}
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
			if m := next(t, listen(t, r.open(t))); m.Text != "hi" {
				t.Errorf("afterwards came %+v", m)
			}
		})
	}
}
