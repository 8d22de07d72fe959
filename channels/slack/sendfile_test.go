package slack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/slack"
	"parley/sessionkeys"
	sim "parley/simulators/slack"
)

const (
	ticketMethod = "files.getUploadURLExternal"
	shareMethod  = "files.completeUploadExternal"
)

// roundTrip is a transport that is a function.
type roundTrip func(req *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func through(f roundTrip) func(*slack.Options) {
	return func(o *slack.Options) { o.HTTPClient = &http.Client{Transport: f} }
}

// plain is a transport whose connections end with the test.
func plain(t *testing.T) *http.Transport {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// inGeneral is the address of a thread that Ann began in general.
func (r *fixture) inGeneral(t *testing.T) sessionkeys.Address {
	t.Helper()
	said := r.say(t, general, ann, "hello", sim.SayOptions{})
	return sessionkeys.Address{Channel: slack.Network, Account: "T0PARLEY01/" + botUser, Kind: sessionkeys.Group, Peer: general.ID, Thread: said.TS}
}

func sendFile(t *testing.T, x *slack.Channel, to sessionkeys.Address, id, name, data string) (channels.Receipt, error) {
	t.Helper()
	return x.SendFile(t.Context(), channels.Reply{To: to, ID: id}, channels.File{Name: name, Size: int64(len(data))}, strings.NewReader(data))
}

func TestAFileStandsInItsThread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	receipt, err := sendFile(t, r.open(t), to, "a/0", "../report.csv", "a,b")
	if err != nil {
		t.Fatal(err)
	}
	f := r.Books().Files
	if len(f) != 1 || f[0].TS != receipt.MessageID || f[0].ThreadTS != to.Thread || f[0].Channel != to.Peer || f[0].Name != "report.csv" || f[0].Title != "report.csv" || f[0].Text != "" {
		t.Errorf("receipt %+v of %+v", receipt, f)
	}
}

func TestAFileWhoseThreadIsGoneStandsOutsideOfIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	r.plan(t, sim.Fault{Trouble: sim.Refused, Method: shareMethod, Error: "invalid_thread_ts", Next: 1})
	if _, err := sendFile(t, r.open(t), to, "a/0", "a.txt", "data"); err != nil {
		t.Fatal(err)
	}
	if f := r.Books().Files; len(f) != 1 || f[0].ThreadTS != "" {
		t.Errorf("files %+v", f)
	}
}

// Whatever address Slack's answer names, neither the token nor the file goes to a
// host that is not Slack's or the configured one.
func TestAFileGoesToSlackAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	var asked atomic.Int32
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(foreign.Close)
	host := strings.TrimPrefix(r.URL(), "http://")
	base := plain(t)
	for _, at := range []string{
		foreign.URL + "/upload/v1/F1", "http://" + host + "@" + strings.TrimPrefix(foreign.URL, "http://") + "/upload", "https://" + host + "/upload/v1/F1",
		"http://files.slack.com/upload/v1/F1", "https://files.slack.com.evil.example/upload", "https://evilslack.com/upload", "//files.slack.com/upload", "file:///etc/passwd", ":",
	} {
		x := r.open(t, through(func(req *http.Request) (*http.Response, error) {
			if req.URL.Host != host {
				t.Errorf("with the address %s a request went to %s", at, req.URL.Host)
			}
			if strings.HasSuffix(req.URL.Path, ticketMethod) {
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{}, Request: req,
					Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"ok":true,"upload_url":%q,"file_id":"F1"}`, at))),
				}, nil
			}
			return base.RoundTrip(req)
		}))
		c := &watched{Reader: strings.NewReader("data")}
		_, err := x.SendFile(t.Context(), channels.Reply{To: to}, channels.File{Name: "a", Size: 4}, c)
		if kind := kindOf(err); kind != channels.Refused && (at != ":" || kind != channels.Unsent) {
			t.Errorf("the address %s gave %v", at, err)
		}
		if c.read.Load() != 0 {
			t.Errorf("with the address %s the content was read", at)
		}
	}
	if asked.Load() != 0 {
		t.Error("the foreign host was asked")
	}
}

// watched counts what is read.
type watched struct {
	io.Reader
	read atomic.Int64
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.read.Add(int64(n))
	return n, err
}

func TestAnUploadTakesNoTokenAndFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	base, away := plain(t), atomic.Bool{}
	x := r.open(t, through(func(req *http.Request) (*http.Response, error) {
		upload := strings.HasPrefix(req.URL.Path, "/upload/")
		if req.URL.Host == "evil.example" {
			t.Error("the redirect was followed")
			return nil, io.ErrUnexpectedEOF
		}
		if token := req.Header.Get("Authorization"); upload == (token != "") || strings.Contains(req.URL.String(), botToken) {
			t.Errorf("%s has the token %q", req.URL.Path, token)
		}
		if upload && away.Load() {
			_, _ = io.Copy(io.Discard, req.Body)
			return &http.Response{
				StatusCode: http.StatusFound, Status: "302 Found", Header: http.Header{"Location": {"https://evil.example/"}}, Body: http.NoBody, Request: req,
			}, nil
		}
		return base.RoundTrip(req)
	}))
	if _, err := sendFile(t, x, to, "a/0", "a.txt", "data"); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Books().Calls {
		if c.Token {
			t.Errorf("a token came with %+v", c)
		}
	}
	away.Store(true)
	if _, err := sendFile(t, x, to, "a/1", "a.txt", "data"); kindOf(err) != channels.Unsent {
		t.Errorf("a redirect gave %v", err)
	}
}

func TestEachStepOfAFileFailsAsItIs(t *testing.T) {
	t.Parallel()
	refuse := func(method, code string) sim.Fault {
		return sim.Fault{Trouble: sim.Refused, Method: method, Error: code}
	}
	for _, c := range []struct {
		fault sim.Fault
		want  channels.ErrorKind
	}{
		{sim.Fault{Trouble: sim.Dropped, Method: ticketMethod}, channels.Unsent},
		{sim.Fault{Trouble: sim.Ambiguous, Method: ticketMethod}, channels.Unsent},
		{sim.Fault{Trouble: sim.Garbage, Method: ticketMethod}, channels.Unsent},
		{sim.Fault{Trouble: sim.InternalError, Method: ticketMethod}, channels.Unsent},
		{sim.Fault{Trouble: sim.TooManyRequests, Method: ticketMethod}, channels.RateLimit},
		{refuse(ticketMethod, "file_uploads_disabled"), channels.Refused},
		{refuse(ticketMethod, "missing_scope"), channels.Refused},
		{refuse(ticketMethod, "invalid_auth"), channels.Unauthorized},

		{sim.Fault{Trouble: sim.Dropped, Method: "upload"}, channels.Unsent},
		{sim.Fault{Trouble: sim.Ambiguous, Method: "upload"}, channels.Unsent},
		{sim.Fault{Trouble: sim.BadGateway, Method: "upload"}, channels.Unsent},
		{sim.Fault{Trouble: sim.TooManyRequests, Method: "upload"}, channels.RateLimit},
		{refuse("upload", "no"), channels.Refused},

		{sim.Fault{Trouble: sim.Dropped, Method: shareMethod}, channels.Ambiguous},
		{sim.Fault{Trouble: sim.InternalError, Method: shareMethod}, channels.Ambiguous},
		{sim.Fault{Trouble: sim.BadGateway, Method: shareMethod}, channels.Ambiguous},
		{sim.Fault{Trouble: sim.Unavailable, Method: shareMethod}, channels.Unsent},
		{sim.Fault{Trouble: sim.TooManyRequests, Method: shareMethod}, channels.RateLimit},
		{refuse(shareMethod, "channel_not_found"), channels.Gone},
		{refuse(shareMethod, "posting_to_channel_denied"), channels.Gone},
		{refuse(shareMethod, "file_type_not_allowed"), channels.Refused},
		{refuse(shareMethod, "token_revoked"), channels.Unauthorized},
	} {
		r := newRig(t)
		to := r.inGeneral(t)
		r.plan(t, c.fault)
		_, err := sendFile(t, r.open(t), to, "a/0", "a.txt", "data")
		if kindOf(err) != c.want {
			t.Errorf("%s of %s%s gave %v", c.fault.Method, c.fault.Trouble, c.fault.Error, err)
		}
		if c.fault.Error == "missing_scope" && !strings.Contains(err.Error(), "files:write") {
			t.Errorf("a missing scope gave %v", err)
		}
		if n := len(r.Books().Messages); n != 0 {
			t.Errorf("%s of %s left %d messages", c.fault.Method, c.fault.Trouble, n)
		}
	}
	for _, trouble := range []sim.Trouble{sim.Ambiguous, sim.Truncated, sim.Garbage} {
		r := newRig(t)
		to := r.inGeneral(t)
		r.plan(t, sim.Fault{Trouble: trouble, Method: shareMethod})
		if _, err := sendFile(t, r.open(t), to, "a/0", "a.txt", "data"); kindOf(err) != channels.Ambiguous {
			t.Errorf("an answer that is %s gave %v", trouble, err)
		}
	}
}

func TestAFileThatSlackNeverTakesIsNotAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to, x := r.inGeneral(t), r.open(t)
	for _, size := range []int64{-1, 0, 1<<30 + 1} {
		c := &watched{Reader: io.LimitReader(zeros{}, fifty)}
		_, err := x.SendFile(t.Context(), channels.Reply{To: to}, channels.File{Name: "a", Size: size}, c)
		if n := len(r.Books().Calls); kindOf(err) != channels.Refused || n != 0 || c.read.Load() != 0 {
			t.Errorf("a file of %d bytes gave %v, after %d calls", size, err, n)
		}
	}
}

// While the last step has to wait nothing is uploaded for it.
func TestAFileIsNotUploadedForALastStepThatMustWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to, x := r.inGeneral(t), r.open(t)
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: shareMethod, RetryAfter: 3600, Next: 1})
	for range 2 {
		_, err := sendFile(t, x, to, "a/0", "a.txt", "data")
		if kindOf(err) != channels.RateLimit {
			t.Errorf("SendFile gave %v", err)
		}
	}
	if n := len(r.Books().Calls); n != 3 {
		t.Errorf("%d calls were made", n)
	}
}

func TestATextStandsBehindAFileThatSlackShowsLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to, x := r.inGeneral(t), r.open(t)
	r.plan(t, sim.Fault{Trouble: sim.LateShare, Delay: 20 * time.Millisecond, Next: 1})
	receipt, err := sendFile(t, x, to, "a/0", "a.txt", "data")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Send(t.Context(), channels.Reply{To: to, Body: channels.Body{Text: "behind"}}); err != nil {
		t.Fatal(err)
	}
	b := r.Books()
	if len(b.Messages) != 2 || len(b.Messages[0].Files) != 1 || b.Messages[0].TS != receipt.MessageID || b.Messages[1].Text() != "behind" {
		t.Errorf("receipt %+v; messages %+v", receipt, b.Messages)
	}
}

// What Slack took is sent, whether or not it can be looked at.
func TestAFileThatCannotBeSeenHasItsOwnIdAsReceipt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scopes []string
		fault  sim.Fault
		change func(*slack.Options)
	}{
		"that never appears":      {nil, sim.Fault{Trouble: sim.LateShare}, func(o *slack.Options) { o.ShareWithin = 20 * time.Millisecond }},
		"without files:read":      {[]string{"files:write"}, sim.Fault{Trouble: sim.Slow, Method: "none"}, func(*slack.Options) {}},
		"under a limit of asking": {nil, sim.Fault{Trouble: sim.TooManyRequests, Method: "files.info"}, func(*slack.Options) {}},
	} {
		r := newRig(t, func(o *sim.Options) { o.Apps[0].Scopes = c.scopes })
		to := r.inGeneral(t)
		r.plan(t, c.fault)
		receipt, err := sendFile(t, r.open(t, c.change), to, "a/0", "a.txt", "data")
		if err != nil || !strings.HasPrefix(receipt.MessageID, "F") {
			t.Errorf("a file %s: %+v, %v", name, receipt, err)
		}
	}
}

func TestFindNeverDeniesAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to, x, since := r.inGeneral(t), r.open(t), time.Now()
	find := func(what string, x *slack.Channel, id string, wantTS string, wantErr bool) {
		t.Helper()
		receipt, found, err := x.Find(t.Context(), to, id, since)
		if receipt.MessageID != wantTS || found != (wantTS != "") || (err != nil) != wantErr {
			t.Errorf("%s: %+v, %v, %v", what, receipt, found, err)
		}
	}
	find("nothing was sent", x, "t/0", "", false)
	// The last step is cut off before Slack has it: it cannot say that it never will.
	r.plan(t, sim.Fault{Trouble: sim.Dropped, Method: shareMethod, Next: 1})
	if _, err := sendFile(t, x, to, "a/0", "a.txt", "data"); kindOf(err) != channels.Ambiguous {
		t.Fatalf("SendFile gave %v", err)
	}
	find("a file that is not shown", x, "a/0", "", true)
	// Or when it has it and has shown nothing yet.
	cut := plain(t)
	y := r.open(t, through(func(req *http.Request) (*http.Response, error) {
		resp, err := cut.RoundTrip(req)
		if err == nil && strings.HasSuffix(req.URL.Path, shareMethod) {
			_ = resp.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return resp, err
	}))
	r.plan(t, sim.Fault{Trouble: sim.LateShare, Next: 1})
	if _, err := sendFile(t, y, to, "a/0", "a.txt", "data"); kindOf(err) != channels.Ambiguous {
		t.Fatalf("SendFile gave %v", err)
	}
	find("a file that is not shown yet", y, "a/0", "", true)
	// Or has shown it.
	r.plan(t, sim.Fault{Trouble: sim.Ambiguous, Method: shareMethod, Next: 1})
	if _, err := sendFile(t, x, to, "a/1", "a.txt", "data"); kindOf(err) != channels.Ambiguous {
		t.Fatalf("SendFile gave %v", err)
	}
	find("a file that is shown", x, "a/1", r.Books().Files[0].TS, false)
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "files.info", Next: 1})
	find("while Slack asks to wait", x, "a/1", "", true)
	// Another process sees a file and cannot know which it is.
	find("another process", r.open(t), "a/1", "", true)
	running := r.run(t)
	r.until(t, func(b sim.Book) bool { return len(b.Connections) > 0 || r.hooked })
	find("another process that knows who it is", running.Channel, "a/0", "", true)
	// Texts are not hurt where they are remembered, nor by files of others.
	r.plan(t, sim.Fault{Trouble: sim.Dropped, Method: "chat.postMessage", Next: 1})
	if _, err := x.Send(t.Context(), channels.Reply{To: to, ID: "t/1", Body: channels.Body{Text: "lost"}}); kindOf(err) != channels.Ambiguous {
		t.Fatalf("Send gave %v", err)
	}
	find("a text that did not arrive", x, "t/1", "", false)
	to.Thread = r.say(t, general, ann, "look", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Data: []byte("x")}}}).TS
	find("beside a file of somebody else", running.Channel, "t/2", "", false)
}

func TestOurOwnFilesAreNotOffered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	dm := r.dm(t, ann)
	r.say(t, dm, ann, "hello", sim.SayOptions{})
	m := x.said()
	if _, err := sendFile(t, x.Channel, m.Address, "a/0", "a.txt", "data"); err != nil {
		t.Fatal(err)
	}
	r.until(t, func(b sim.Book) bool {
		for _, e := range b.Events {
			if e.Kind == "message/file_share" && !e.Acknowledged.IsZero() {
				return true
			}
		}
		return false
	})
	// Slack has named the bot by its user, by its id as a bot, and by both.
	for i, who := range []string{`"user":"` + botUser + `"`, `"bot_id":"` + botID + `"`} {
		r.inject(t, fmt.Sprintf(`{"type":"message","subtype":"file_share","channel":%q,"channel_type":"im","ts":"1700000000.00010%d",%s,"text":"<@%s>",
			"files":[{"id":"F1","name":"a.txt","mimetype":"text/plain","size":4}],"upload":true}`, dm.ID, i, who, botUser))
	}
	r.say(t, dm, ann, "thanks", sim.SayOptions{})
	if m := x.next(); m.Text != "thanks" {
		t.Errorf("before what Ann said came %+v", m)
	}
}

// fifty is 50 MB that nobody holds.
const fifty = 50 << 20

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestAFileIsNeverWholeInMemory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	base := plain(t)
	c := &watched{Reader: io.LimitReader(zeros{}, fifty)}
	var ahead int64
	x := r.open(t, through(func(req *http.Request) (*http.Response, error) {
		if !strings.HasPrefix(req.URL.Path, "/upload/") {
			return base.RoundTrip(req)
		}
		taken, piece := int64(0), make([]byte, 32<<10)
		for {
			n, err := req.Body.Read(piece)
			taken += int64(n)
			ahead = max(ahead, c.read.Load()-taken)
			if err != nil {
				break
			}
		}
		if taken != fifty || req.ContentLength != fifty {
			t.Errorf("%d bytes came, %d were announced", taken, req.ContentLength)
		}
		return &http.Response{StatusCode: http.StatusInternalServerError, Status: "500 enough", Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}))
	_, err := x.SendFile(t.Context(), channels.Reply{To: to}, channels.File{Name: "a", Size: fifty}, c)
	if kindOf(err) != channels.Unsent || c.read.Load() != fifty || ahead > 1<<20 {
		t.Errorf("%v; %d bytes were read, up to %d ahead", err, c.read.Load(), ahead)
	}
}

// net/http may go on reading a body when it has given up the request.
func TestContentIsNotReadBehindSendFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	base := plain(t)
	var body io.Reader
	var status int
	x := r.open(t, through(func(req *http.Request) (*http.Response, error) {
		if !strings.HasPrefix(req.URL.Path, "/upload/") {
			return base.RoundTrip(req)
		}
		body = req.Body
		if status == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: status, Status: "200 OK", Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}))
	for _, status = range []int{0, http.StatusOK} { // one that came before the content was read is no success
		c := &watched{Reader: io.LimitReader(zeros{}, fifty)}
		_, err := x.SendFile(t.Context(), channels.Reply{To: to}, channels.File{Name: "a", Size: 100}, c)
		if kindOf(err) != channels.Unsent {
			t.Errorf("SendFile gave %v", err)
		}
		if n, err := body.Read(make([]byte, 10)); n != 0 || err == nil || c.read.Load() != 0 {
			t.Errorf("then a read gave %d bytes, %v", n, err)
		}
	}
	if n := len(r.Books().Messages); n != 0 {
		t.Errorf("%d messages are there", n)
	}
}

func TestAFileThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	r.plan(t, sim.Fault{Trouble: sim.Slow, Method: "upload", Delay: time.Hour})
	x := r.open(t, func(o *slack.Options) { o.SendTimeout = 100 * time.Millisecond })
	var err error
	for range 100 { // the call before may take as long on a slow machine
		if _, err = sendFile(t, x, to, "a/0", "a.txt", "data"); !strings.Contains(err.Error(), "no answer in time") {
			break
		}
	}
	if kindOf(err) != channels.Unsent || !strings.Contains(err.Error(), "nothing moved in time") || strings.Contains(err.Error(), "/upload/v1/") {
		t.Errorf("SendFile gave %v", err)
	}
}

// A process that is asked to end amid the last step cannot know what became of it.
func TestAFileThatIsCutOffInItsLastStepIsInDoubt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.inGeneral(t)
	ctx, cancel := context.WithCancel(t.Context())
	base := plain(t)
	x := r.open(t, through(func(req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		if err != nil || !strings.HasSuffix(req.URL.Path, shareMethod) {
			return resp, err
		}
		_ = resp.Body.Close()
		cancel()
		return nil, context.Cause(ctx)
	}))
	_, err := x.SendFile(ctx, channels.Reply{To: to, ID: "a/0"}, channels.File{Name: "a", Size: 1}, strings.NewReader("a"))
	if kindOf(err) != channels.Ambiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("SendFile gave %v", err)
	}
	receipt, found, err := x.Find(t.Context(), to, "a/0", time.Now())
	if f := r.Books().Files; len(f) != 1 || !found || err != nil || receipt.MessageID != f[0].TS {
		t.Errorf("Find gave %+v, %v, %v", receipt, found, err)
	}
}

// endless answers downloads with a file that has no end.
func endless(base http.RoundTripper, given *atomic.Int64) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet {
			return base.RoundTrip(req)
		}
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{"Content-Type": {"application/octet-stream"}}, Request: req,
			Body: io.NopCloser(readFunc(func(b []byte) (int, error) {
				if err := req.Context().Err(); err != nil {
					return 0, err
				}
				given.Add(int64(len(b)))
				return zeros{}.Read(b)
			})),
		}, nil
	}
}

type readFunc func(b []byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

type writeFunc func(b []byte) (int, error)

func (f writeFunc) Write(b []byte) (int, error) { return f(b) }

func TestADownloadEndsWithItsWriterOrItsContextAndIsNeverWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, given := plain(t), &atomic.Int64{}
	x := r.run(t, through(endless(base, given)))
	r.say(t, r.dm(t, ann), ann, "a file", sim.SayOptions{Files: []sim.File{{Name: "a.bin", Mimetype: "application/octet-stream", Data: []byte("x")}}})
	m := x.said()
	errFull := errors.New("the disk is full")
	taken := int64(0)
	err := x.Fetch(t.Context(), m.Address, m.Attachments[0], writeFunc(func(b []byte) (int, error) {
		if taken += int64(len(b)); taken >= fifty {
			return 0, errFull
		}
		return len(b), nil
	}))
	if kindOf(err) != channels.Unsent || !errors.Is(err, errFull) {
		t.Errorf("a writer that fails gave %v", err)
	}
	if ahead := given.Load() - taken; taken < fifty || ahead > 1<<20 {
		t.Errorf("%d bytes were written, %d read ahead", taken, ahead)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = x.Fetch(ctx, m.Address, m.Attachments[0], writeFunc(func(b []byte) (int, error) {
		cancel()
		return len(b), nil
	}))
	if kindOf(err) != channels.Unsent || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends gave %v", err)
	}
	if err := x.Fetch(ctx, m.Address, m.Attachments[0], io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended gave %v", err)
	}
}

func TestADownloadThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base := plain(t)
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "a file", sim.SayOptions{Files: []sim.File{{Name: "a.bin", Data: []byte("x")}}})
	m := x.said()
	y := r.open(t, func(o *slack.Options) { o.SendTimeout = 100 * time.Millisecond }, through(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet {
			return base.RoundTrip(req)
		}
		still := readFunc(func([]byte) (int, error) {
			<-req.Context().Done()
			return 0, req.Context().Err()
		})
		return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(still), Request: req}, nil
	}))
	var err error
	for range 100 { // the call before may take as long on a slow machine
		if err = y.Fetch(t.Context(), m.Address, m.Attachments[0], io.Discard); !strings.Contains(err.Error(), "no answer in time") {
			break
		}
	}
	if kindOf(err) != channels.Unsent || !strings.Contains(err.Error(), "nothing moved in time") {
		t.Errorf("Fetch gave %v", err)
	}
}

// A file that somebody shared names an address; the token goes to Slack's alone.
func TestADownloadComesFromSlackAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base := plain(t)
	x := r.run(t, through(func(req *http.Request) (*http.Response, error) {
		if req.URL.Host != strings.TrimPrefix(r.URL(), "http://") {
			t.Errorf("a request went to %s", req.URL)
		}
		resp, err := base.RoundTrip(req)
		if err != nil || !strings.HasSuffix(req.URL.Path, "files.info") {
			return resp, err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		body = bytes.ReplaceAll(body, []byte(r.URL()+"/files-pri"), []byte("https://slack.com.evil.example/files-pri"))
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return resp, err
	}))
	r.say(t, r.dm(t, ann), ann, "a file", sim.SayOptions{Files: []sim.File{{Name: "a.bin", Data: []byte("x")}}})
	m := x.said()
	if err := x.Fetch(t.Context(), m.Address, m.Attachments[0], io.Discard); kindOf(err) != channels.Refused {
		t.Errorf("Fetch gave %v", err)
	}
}
