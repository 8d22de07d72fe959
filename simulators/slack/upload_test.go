package slack_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	sim "parley/simulators/slack"
)

// ticket is where a file may be put.
type ticket struct {
	URL string `json:"upload_url"`
	ID  string `json:"file_id"`
}

func (w *workspace) ticket(name string, length int) ticket {
	w.t.Helper()
	var t ticket
	if a := w.call("files.getUploadURLExternal", map[string]any{"filename": name, "length": length}); json.Unmarshal(a.raw, &t) != nil || t.ID == "" {
		w.t.Fatalf("a place for a file: %s", a.raw)
	}
	return t
}

// complete shares a file in general.
func (w *workspace) complete(id string, more map[string]any) answer {
	w.t.Helper()
	args := map[string]any{"files": []any{map[string]any{"id": id, "title": "A title"}}, "channel_id": general.ID}
	for k, v := range more {
		args[k] = v
	}
	return w.call("files.completeUploadExternal", args)
}

// shares asks where a file is shown, by the ts of the messages.
func (w *workspace) shares(id, channel string) []string {
	w.t.Helper()
	var info struct {
		File struct {
			Shares map[string]map[string][]struct {
				TS string `json:"ts"`
			} `json:"shares"`
		} `json:"file"`
	}
	a := w.call("files.info", map[string]any{"file": id})
	if err := json.Unmarshal(a.raw, &info); err != nil || !a.OK {
		w.t.Fatalf("files.info: %s", a.raw)
	}
	var out []string
	for _, where := range info.File.Shares {
		for _, s := range where[channel] {
			out = append(out, s.TS)
		}
	}
	return out
}

func TestAFileIsUploadedWithoutATokenAndSharedOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	file := w.ticket("a.txt", 4)
	if a := w.complete(file.ID, nil); a.Error != "file_not_found" {
		t.Errorf("before its bytes came: %s", a.raw)
	}
	for _, body := range []string{"", "dat", "data!"} {
		if code, text := w.fetch(http.MethodPost, file.URL, body); code == http.StatusOK {
			t.Errorf("%d bytes of 4 gave %d %s", len(body), code, text)
		}
	}
	if code, _ := w.fetch(http.MethodPut, file.URL, "data"); code == http.StatusOK {
		t.Error("it may be put there, too")
	}
	if code, text := w.fetch(http.MethodPost, file.URL, "data"); code != http.StatusOK || text != "OK - 4" {
		t.Errorf("the upload gave %d %s", code, text)
	}
	a := w.complete(file.ID, map[string]any{"thread_ts": root.TS, "initial_comment": "see"})
	var done struct {
		Files []map[string]any `json:"files"`
	}
	if err := json.Unmarshal(a.raw, &done); err != nil || len(done.Files) != 1 || len(done.Files[0]) != 2 || done.Files[0]["id"] != file.ID || done.Files[0]["title"] != "A title" {
		t.Errorf("it is answered %s", a.raw)
	}
	if a := w.complete(file.ID, nil); a.Error != "file_not_found" {
		t.Errorf("again: %s", a.raw)
	}
	if code, _ := w.fetch(http.MethodPost, file.URL, "data"); code != http.StatusNotFound {
		t.Errorf("its URL answers %d", code)
	}
	b := w.Books()
	if len(b.Files) != 1 || len(b.Messages) != 1 {
		t.Fatalf("%d files in %d messages", len(b.Files), len(b.Messages))
	}
	f := b.Files[0]
	if string(f.Data) != "data" || f.Name != "a.txt" || f.Title != "A title" || f.Text != "see" || f.ThreadTS != root.TS || f.TS != b.Messages[0].TS || f.Channel != general.ID {
		t.Errorf("file %+v", f)
	}
	if at := w.shares(file.ID, general.ID); len(at) != 1 || at[0] != f.TS {
		t.Errorf("it is shown at %v", at)
	}
	if a := w.call("files.getUploadURLExternal", map[string]any{"filename": "a", "length": 0}); a.OK {
		t.Errorf("an empty file: %s", a.raw)
	}
	if a := w.call("files.getUploadURLExternal", map[string]any{"filename": "a", "length": 1<<30 + 1}); a.Error != "file_upload_size_restricted" {
		t.Errorf("a large file: %s", a.raw)
	}
	for _, c := range b.Calls {
		if c.Token {
			t.Errorf("a token came with %+v", c)
		}
	}
	q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.ticket("b", 1).URL, strings.NewReader("b"))
	q.Header.Set("Authorization", "Bearer x")
	res, err := w.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if c := w.Books().Calls; !c[len(c)-1].Token || c[len(c)-1].Method != "upload" || c[len(c)-1].Status != http.StatusOK {
		t.Errorf("with a token: %+v", c[len(c)-1])
	}
}

func TestFaultsFallOnUploads(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	for trouble, status := range map[sim.Trouble]int{
		sim.TooManyRequests: 429, sim.InternalError: 500, sim.BadGateway: 502, sim.Unavailable: 503, sim.Refused: 400, sim.Dropped: 0, sim.Ambiguous: 0,
	} {
		w.ClearFaults()
		file := w.ticket("a", 4)
		w.plan(sim.Fault{Trouble: trouble, Method: "upload", Next: 1, Error: "no"})
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, file.URL, strings.NewReader("data"))
		res, err := w.client.Do(q)
		got := 0
		if err == nil {
			got = res.StatusCode
			_ = res.Body.Close()
		}
		if got != status {
			t.Errorf("%s: status %d, %v", trouble, got, err)
		}
		if a := w.complete(file.ID, nil); a.OK != (trouble == sim.Ambiguous) {
			t.Errorf("%s: then %s", trouble, a.raw)
		}
	}
	if n := len(w.Books().Files); n != 1 {
		t.Errorf("%d files are shown", n)
	}
}

func TestAShareCanComeLateOrNever(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	w.plan(sim.Fault{Trouble: sim.LateShare, Next: 1}, sim.Fault{Trouble: sim.LateShare, Next: 1, Delay: time.Millisecond})
	never, late := w.ticket("never", 1), w.ticket("late", 1)
	for _, f := range []ticket{never, late} {
		w.fetch(http.MethodPost, f.URL, "x")
		if a := w.complete(f.ID, nil); !a.OK {
			t.Fatalf("%s", a.raw)
		}
	}
	b := w.until(func(b sim.Book) bool { return len(b.Files) > 0 })
	if b.Files[0].ID != late.ID || len(b.Messages) != 1 {
		t.Errorf("files %+v", b.Files)
	}
	if at := w.shares(never.ID, general.ID); len(at) != 0 {
		t.Errorf("the first is shown at %v", at)
	}
	if at := w.shares(late.ID, general.ID); len(at) != 1 || at[0] != b.Files[0].TS {
		t.Errorf("the second is shown at %v", at)
	}
	if f := (sim.Fault{Trouble: sim.LateShare, Method: "event"}); w.Plan(f) == nil {
		t.Error("it falls on deliveries")
	}
}
