// Package upgradetest has gateways of now go on with state folders that earlier versions left.
package upgradetest

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/roles"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

var update = flag.Bool("update", false, "write the state folder of the schema of now into testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newest returns the version of the database's schema of now.
func newest(t *testing.T) int {
	t.Helper()
	steps, err := filepath.Glob("../../sessions/sqlite/migrations/*.sql")
	if err != nil || len(steps) == 0 {
		t.Fatalf("there are no migrations: %v", err)
	}
	return len(steps)
}

// world is the servers, and what people say to the bot.
type world struct {
	*gatewaytest.Env
	ann, ben, cid *gatewaytest.Conversation
	asked         chan struct{} // Cid's question has reached the model
	answer        chan struct{} // closed: the model answers it
}

// open starts the servers. Telegram counts what people do from first on.
func open(t *testing.T, first int64) *world {
	t.Helper()
	w := &world{asked: make(chan struct{}, 1), answer: make(chan struct{})}
	w.Env = gatewaytest.Open(t, gatewaytest.Options{Brain: w.think, OnTelegram: func(o *telegram.Options) {
		o.FirstUpdateID = first
	}})
	w.ann, w.ben, w.cid = w.Direct(gatewaytest.Telegram, 1), w.Direct(gatewaytest.Telegram, 2), w.Direct(gatewaytest.Telegram, 3)
	return w
}

// think hands "dig 1" to a sub-agent, lets Cid wait, and says of everything else what it was told.
func (w *world) think(ctx context.Context, p *model.Prompt) model.Answer {
	switch text := p.LastText(); {
	case text == "dig 1" && len(p.Answering()) == 0:
		return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "dig 0"}))
	case text == "are you there":
		select {
		case w.asked <- struct{}{}:
		default:
		}
		select {
		case <-w.answer:
		case <-ctx.Done():
		}
	}
	return model.Echo(ctx, p)
}

// known is what a gateway says of what it keeps.
type known struct {
	Sessions map[string]kept        `json:"sessions"`
	People   map[string]admin.Usage `json:"people,omitempty"`
	Said     map[string][]string    `json:"said"` // by root session
	Access   []admin.AccessEntry    `json:"access,omitempty"`
	Goal     string                 `json:"goal,omitempty"` // of Ann's conversation
}

// kept is a session.
type kept struct {
	Key      string      `json:"key"`
	Title    string      `json:"title,omitempty"`
	Messages int         `json:"messages"`
	Own      admin.Usage `json:"own"`
	Subtree  string      `json:"subtree"`
	Updated  time.Time   `json:"updated"`
}

// look asks a gateway what it keeps.
func look(t *testing.T, gw *gatewaytest.Running) known {
	t.Helper()
	ask := admin.NewClient(gw.AdminSocket())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	all := known{Sessions: map[string]kept{}, People: map[string]admin.Usage{}, Said: map[string][]string{}}
	roots, err := ask.Sessions(t.Context(), admin.SessionQuery{Limit: 20})
	must(err)
	for _, root := range roots.Sessions {
		d, err := ask.Session(t.Context(), string(root.ID), true)
		must(err)
		for _, n := range d.Tree {
			all.Sessions[string(n.ID)] = kept{n.Key, n.Title, n.Messages, n.Usage, n.Subtree.Exact(), n.Updated}
		}
		for _, m := range d.Transcript {
			for _, p := range m.Parts {
				all.Said[string(root.ID)] = append(all.Said[string(root.ID)], m.Role+": "+p.Text)
			}
		}
	}
	usage, err := ask.Usage(t.Context(), admin.UsageQuery{By: admin.ByPerson})
	must(err)
	for _, g := range usage.Groups {
		all.People[g.Group] = g
	}
	access, err := ask.Access().List(t.Context())
	must(err)
	for _, e := range access.Entries {
		if e.Person != "" {
			all.Access = append(all.Access, e)
		}
	}
	return all
}

// only drops what is not in want: what began since, and what the version of want did not tell.
func (k *known) only(want known) {
	keep := func(id string) bool { _, ok := want.Sessions[id]; return ok }
	maps.DeleteFunc(k.Sessions, func(id string, _ kept) bool { return !keep(id) })
	maps.DeleteFunc(k.Said, func(id string, _ []string) bool { return !keep(id) })
	maps.DeleteFunc(k.People, func(id string, _ admin.Usage) bool { _, ok := want.People[id]; return !ok })
	if want.People == nil {
		k.People = nil
	}
}

// A state folder of an earlier version is taken over by the program of now: it has the same sessions,
// words, sums and records, to the last digit; conversations go on in it, and so does a question that
// the earlier version had accepted and not answered when it was stopped.
func TestTheStateOfAnEarlierVersionGoesOn(t *testing.T) {
	t.Parallel()
	if *update {
		write(t)
	}
	folders, err := filepath.Glob("testdata/schema-*.tar.gz")
	if err != nil || len(folders) == 0 {
		t.Fatalf("there are no state folders: %v", err)
	}
	last := 0
	for _, packed := range folders {
		version, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(packed), "schema-"), ".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, version)
		t.Run(fmt.Sprint("schema ", version), func(t *testing.T) {
			t.Parallel()
			takeOver(t, packed)
		})
	}
	if now := newest(t); last < now-1 {
		t.Errorf("the schema is of version %d, and the newest state folder of %d: testdata needs one of version %d, see docs/upgrade.md", now, last, now-1)
	}
}

func takeOver(t *testing.T, packed string) {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(packed, ".tar.gz") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var want known
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	w := open(t, 2_000_000)
	unpack(t, packed, filepath.Join(w.Dir, "state"))
	w.cid.Say("/status") // a bot may write only to people who have written to it
	gw := w.Start()
	gw.NextDelivered()
	<-w.asked // Cid's question goes on by itself
	before := look(t, gw)
	before.only(want)
	before.Goal = want.Goal // asked for below
	if d := cmp.Diff(want, before); d != "" {
		t.Errorf("it was (-), and is (+):\n%s", d)
	}
	if len(want.Sessions) != 3 {
		t.Errorf("the state folder has too little in it: %+v", want)
	}
	close(w.answer)
	gw.NextDelivered()

	if got := gw.AskAt(w.ann, "/goal"); !strings.Contains(got, want.Goal) {
		t.Errorf("the goal is %q, not %q", got, want.Goal)
	}
	if got := gw.AskAt(w.ann, "where is it"); !strings.Contains(got, "where is it") {
		t.Errorf("it answers %q", got)
	}
	asked := w.Model.Requests()
	if !strings.Contains(string(asked[len(asked)-1].Body), "under the blue pot") {
		t.Error("the model does not read what was said before")
	}
	after := look(t, gw)
	for id, said := range want.Said {
		if !strings.Contains(said[0], "blue pot") {
			continue
		}
		was, is := want.Sessions[id], after.Sessions[id]
		if is.Messages != was.Messages+2 || is.Own.Calls != was.Own.Calls+1 || is.Own.Cost <= was.Own.Cost {
			t.Errorf("the conversation does not go on: it was %+v, and is %+v", was, is)
		}
	}
	if shown := slices.DeleteFunc(w.cid.Texts(), func(s string) bool { return s != "are you there" }); len(shown) != 1 {
		t.Errorf("Cid was answered %d times", len(shown))
	}
}

// write leaves a state folder of the schema of now in testdata: two people, a sub-agent, a goal, a title,
// a decision about a person, and a question that the gateway could not answer before it was stopped.
func write(t *testing.T) {
	t.Helper()
	w := open(t, 1_000)
	gw := w.StartAs(func(c *settings.Config) { c.Worker.Grace = time.Millisecond })
	gw.AskAt(w.ann, "the key is under the blue pot")
	gw.AskAt(w.ann, "/goal paint the gate")
	gw.AskAt(w.ann, "/title holidays")
	gw.AskAt(w.ben, "dig 1")
	if _, err := admin.NewClient(gw.AdminSocket()).Access().Allow(t.Context(), string(gatewaytest.Telegram), "7700", roles.Admin); err != nil {
		t.Fatal(err)
	}
	all := look(t, gw)
	all.Goal = "paint the gate"
	w.cid.Say("are you there")
	<-w.asked
	gw.Stop()

	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", fmt.Sprint("schema-", newest(t)))
	if err := os.WriteFile(name+".json", append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	pack(t, filepath.Join(w.Dir, "state"), name+".tar.gz")
}

// pack writes the files of a folder into an archive. Its time is that of no clock.
func pack(t *testing.T, folder, archive string) {
	t.Helper()
	file, err := os.OpenFile(archive, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(text))}); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err = errors.Join(err, w.Close(), z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// unpack makes a folder of an archive.
func unpack(t *testing.T, archive, folder string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatalf("%s: %v", h.Name, err)
		}
		path := filepath.Join(folder, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.LimitReader(r, 64<<20))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
