package signal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// stored are the contents of the plain files in signal-cli's folder of files, sorted.
func (r *fixture) stored(t testing.TB) (all []string) {
	t.Helper()
	dir := filepath.Join(r.dir, "config", "attachments")
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if !n.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(content))
	}
	slices.Sort(all)
	return all
}

// picture is a file whose content is its name.
func picture(name string) *sim.Attachment {
	return &sim.Attachment{ContentType: "image/jpeg", Data: []byte(name)}
}

// everywhere is a message with a file wherever one can be.
func everywhere(of string) sim.SayOptions {
	return sim.SayOptions{
		Attachments: []sim.Attachment{*picture(of + " file")},
		Previews:    []sim.Preview{{URL: "https://example.org", Image: picture(of + " card")}},
		Quote:       &sim.Quote{Timestamp: 5, Author: bob.ACI, Thumbnail: picture(of + " quote")},
		Contacts:    []sim.Contact{{Given: "Eve", Avatar: picture(of + " face")}},
	}
}

// of is a Heeds of what one person says.
func of(p sim.Person) channels.Filter {
	return func(_ context.Context, m channels.Message) bool { return m.Sender.ID == p.ACI }
}

// abuse H3: what strangers send filled the disk, and nobody deleted it.
func TestFilesOfWhoIsNotHeededAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t, func(o *signal.Options) { o.IsRelevant = of(ann) }), nil)
	r.say(t, sim.Chat{}, bob, strings.Repeat("long ", 600), everywhere("bob's"))
	r.say(t, team, bob, "there", everywhere("bob's other"))
	r.say(t, sim.Chat{}, ann, "hi", everywhere("ann's"))
	for range 3 {
		got.next()
	}
	got.stop() // all that was taken is dealt with
	if want := []string{"ann's file"}; !slices.Equal(r.stored(t), want) {
		t.Errorf("stored are %q, want %q", r.stored(t), want)
	}
}

// abuse H3: of what is passed over, whoever sent it, nothing stays either.
func TestFilesOfWhatIsPassedOverAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t, func(o *signal.Options) {
		o.IsUsed = func(_ context.Context, m channels.Message) bool { return !strings.HasPrefix(m.Text, "for the others") }
	}), nil)
	once := everywhere("once")
	once.ViewOnce = true
	r.say(t, sim.Chat{}, ann, "", once)
	r.say(t, team, ann, "for the others", everywhere("other"))
	reply := everywhere("story")
	reply.StoryReply = &sim.Quote{Timestamp: 7, Author: ann.ACI}
	r.say(t, sim.Chat{}, ann, "nice", reply)
	r.say(t, sim.Chat{}, ann, "mine", sim.SayOptions{Attachments: []sim.Attachment{*picture("kept")}})
	for range 4 {
		got.next()
	}
	got.stop()
	if want := []string{"kept", "story file"}; !slices.Equal(r.stored(t), want) {
		t.Errorf("stored are %q, want %q", r.stored(t), want)
	}
}

// abuse H3: an envelope decides no more than the names of files in one folder.
func TestNothingIsDeletedOutsideOfTheFolderOrThroughALink(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t, func(o *signal.Options) { o.IsRelevant = of(ann) }), nil)
	r.say(t, sim.Chat{}, ann, "hi", sim.SayOptions{})
	got.next()
	dir := filepath.Join(r.dir, "config", "attachments")
	other, outside := filepath.Join(dir, "folder"), filepath.Join(r.dir, "config", "outside.txt")
	noError(t, os.Mkdir(other, 0o700))
	for _, path := range []string{outside, filepath.Join(other, "in.txt"), filepath.Join(dir, "plain.txt"), filepath.Join(dir, "unnamed.txt")} {
		noError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	noError(t, os.Symlink(outside, filepath.Join(dir, "link.txt")))
	var names []string
	for _, name := range []string{"../outside.txt", outside, "folder", "folder/in.txt", "link.txt", ".", "..", "", "gone.txt", "plain.txt"} {
		names = append(names, fmt.Sprintf(`{"contentType":"image/png","id":%q,"size":1}`, name))
	}
	if _, err := r.Inject("", fmt.Appendf(nil, `{"envelope":{"source":%[1]q,"sourceUuid":%[1]q,"sourceDevice":1,"timestamp":99,"dataMessage":{"timestamp":99,"message":"x","attachments":[%s]}},"account":%q}`,
		bob.ACI, strings.Join(names, ","), number)); err != nil {
		t.Fatal(err)
	}
	got.next()
	got.stop()
	for _, path := range []string{outside, filepath.Join(other, "in.txt"), filepath.Join(dir, "link.txt"), filepath.Join(dir, "unnamed.txt")} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "plain.txt")); !os.IsNotExist(err) {
		t.Errorf("the file of the refused stays: %v", err)
	}
}

// abuse H3: who is refused cannot have the file of somebody else deleted by naming it.
func TestAFileThatAMessageUsesStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t, func(o *signal.Options) { o.IsRelevant = of(ann) }), nil)
	r.say(t, sim.Chat{}, ann, "hi", sim.SayOptions{Attachments: []sim.Attachment{*picture("hers")}})
	ref := got.next().Attachments[0].Ref
	if _, err := r.Inject("", fmt.Appendf(nil, `{"envelope":{"source":%[1]q,"sourceUuid":%[1]q,"sourceDevice":1,"timestamp":99,"dataMessage":{"timestamp":99,"message":"x","attachments":[{"contentType":"image/png","id":%q,"size":1}]}},"account":%q}`,
		bob.ACI, ref, number)); err != nil {
		t.Fatal(err)
	}
	got.next()
	got.stop()
	if want := []string{"hers"}; !slices.Equal(r.stored(t), want) {
		t.Errorf("stored are %q, want %q", r.stored(t), want)
	}
}

// abuse H3: the folder of a signal-cli that somebody else runs is theirs.
func TestInSomebodyElsesFolderNothingIsDeleted(t *testing.T) {
	t.Parallel()
	r := newAttached(t, "unix")
	got := take(t, r.open(t, func(o *signal.Options) { o.IsRelevant = of(ann) }), nil)
	r.say(t, sim.Chat{}, bob, "hi", sim.SayOptions{Attachments: []sim.Attachment{*picture("his")}})
	got.next()
	got.stop()
	if want := []string{"his"}; !slices.Equal(r.stored(t), want) {
		t.Errorf("stored are %q, want %q", r.stored(t), want)
	}
}
