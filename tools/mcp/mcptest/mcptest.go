// Package mcptest is a small MCP server that does on command what servers do: it answers, dies,
// hangs, changes its tools, asks for a person. Tests run it as a program, over HTTP, or in
// their own process.
package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/programs"
)

// Arg is the first argument by which a test binary becomes the server; see Main.
const Arg = "mcp-test-server"

// Main is for the beginning of TestMain: where the binary was started as a server it is one,
// and does not return.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != Arg {
		return
	}
	err := New(Folder(".")).Run(context.Background(), &sdk.StdioTransport{})
	if err != nil && !errors.Is(err, io.EOF) {
		_, _ = fmt.Fprintln(os.Stderr, "mcptest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Program returns this test binary as the program of a server, and its command.
func Program() (programs.Program, []string, error) {
	self, err := os.Executable()
	if err != nil {
		return programs.Program{}, nil, err
	}
	p, err := programs.FindProgram(self, "")
	return p, []string{self, Arg}, err
}

// World is what the tools of a server do something to.
type World interface {
	// Note writes a line down.
	Note(line string) error
	// Die ends the server without a word.
	Die()
}

// Folder is a World that notes lines in the file notes of a folder, and whose server is this
// process.
type Folder string

// Note implements [World].
func (f Folder) Note(line string) error {
	file, err := os.OpenFile(string(f)+"/notes", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, line)
	return errors.Join(err, file.Close())
}

// Die implements [World].
func (Folder) Die() {
	_, _ = fmt.Fprintln(os.Stderr, "mcptest: dying")
	os.Exit(3)
}

type text struct {
	Text string `json:"text" jsonschema:"what to take"`
}

// New makes a server with these tools:
//
//	echo      returns its text
//	note      notes its text
//	die       notes its text, and dies
//	hang      notes its text, waits until it is cancelled, and notes that
//	swap      describes echo by its text from then on
//	rich      returns texts, a picture, a link, a resource and structured content
//	fail      fails with its text
//	ask       wants a person to say yes, and returns what they said
//	env       returns its environment, a variable on each line
//	fork      starts a program that never ends by itself, and returns
func New(w World) *sdk.Server { return newServer(w, nil) }

func newServer(w World, o *sdk.ServerOptions) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "mcptest", Version: "1"}, o)
	echo := func(description string) {
		sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: description, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, say(func(_ context.Context, in string) (string, error) { return in, nil }))
	}
	echo("Return the text.")
	add := func(name, about string, do func(ctx context.Context, in string) (string, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: about, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, say(do))
	}
	add("note", "Note the text.", func(_ context.Context, in string) (string, error) { return "noted", w.Note(in) })
	add("die", "Die.", func(_ context.Context, in string) (string, error) {
		err := w.Note(in)
		w.Die()
		return "", err
	})
	add("hang", "Hang.", func(ctx context.Context, in string) (string, error) {
		err := w.Note(in)
		<-ctx.Done()
		return "", errors.Join(err, w.Note(in+" cancelled"))
	})
	add("swap", "Change the description of echo.", func(_ context.Context, in string) (string, error) {
		echo(in)
		return "swapped", nil
	})
	add("fail", "Fail.", func(_ context.Context, in string) (string, error) { return "", errors.New(in) })
	add("env", "Show the environment.", func(context.Context, string) (string, error) { return strings.Join(os.Environ(), "\n"), nil })
	add("fork", "Start a program.", func(context.Context, string) (string, error) {
		return "started", exec.Command("sleep", "100000").Start() //nolint:noctx // it is to outlive everything
	})
	sdk.AddTool(s, &sdk.Tool{Name: "rich", Description: "Return all kinds of content."}, rich)
	sdk.AddTool(s, &sdk.Tool{Name: "ask", Description: "Ask a person."}, ask)
	return s
}

// say makes the handler of a tool of texts.
func say(do func(ctx context.Context, in string) (string, error)) sdk.ToolHandlerFor[text, any] {
	return func(ctx context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
		out, err := do(ctx, in.Text)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out}}}, nil, err
	}
}

func rich(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: "seen\u202e\x07"},
		&sdk.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
		&sdk.AudioContent{MIMEType: "audio/ogg", Data: []byte("12345")},
		&sdk.ResourceLink{Name: "log", URI: "file:///var/log\nx"},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "note:1", Text: "inside"}},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "note:2", MIMEType: "application/zip", Blob: []byte("123")}},
	}, StructuredContent: json.RawMessage(`{"answer":42}`)}, nil, nil
}

func ask(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
	if said, ok := r.Params.InputResponses["sure"].(*sdk.ElicitResult); ok {
		text := fmt.Sprintf("somebody answered: %s %v in %s", said.Action, said.Content["yes"], r.Params.RequestState)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	}
	return &sdk.CallToolResult{RequestState: "state 7", InputRequests: sdk.InputRequestMap{"sure": &sdk.ElicitParams{Message: "Are you sure?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"yes": map[string]any{"type": "boolean"}},
	}}}}, nil, nil
}

// Handler returns a server over streamable HTTP, which keeps no sessions.
func Handler(w World) http.Handler {
	s := New(w)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// InProcess is a runner whose programs are servers in this process.
type InProcess struct {
	// New returns the server that a program is, and is asked for each. Its program ends when die is
	// closed, as if it had been killed; then dead is called.
	New func() (s *sdk.Server, die <-chan struct{}, dead func())
}

var _ programs.Runner = InProcess{}

// Inside implements [programs.Runner].
func (InProcess) Inside(workspace string) string { return workspace }

// Run implements [programs.Runner].
func (r InProcess) Run(ctx context.Context, c programs.Command) (programs.Result, error) {
	s, die, dead := r.New()
	out := &output{to: c.Stdout}
	defer func() {
		out.over.Store(true)
		dead()
	}()
	session, err := s.Connect(ctx, &sdk.IOTransport{Reader: io.NopCloser(c.Stdin), Writer: out}, nil)
	if err != nil {
		return programs.Result{}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = session.Wait() // how it ends, its other side tells
	}()
	select {
	case <-ctx.Done():
		return programs.Result{}, context.Cause(ctx)
	case <-die:
		return programs.Result{Code: -1, Signal: 9}, nil
	case <-ended:
		return programs.Result{}, nil
	}
}

// output is a writer that stays open, and on which nothing is written any more when its program has
// ended.
type output struct {
	to   io.Writer
	over atomic.Bool
}

func (o *output) Write(p []byte) (int, error) {
	if o.over.Load() {
		return 0, io.ErrClosedPipe
	}
	return o.to.Write(p) // as it is
}

func (*output) Close() error { return nil }

// NewOlder makes a server like New that knows no protocol from 2026-07-28 on.
func NewOlder(w World) *sdk.Server {
	return newServer(w, &sdk.ServerOptions{SupportedProtocolVersions: []string{"2025-11-25"}})
}

// Descendants returns how many processes live that this one has started, and they, and so on.
func Descendants(t *testing.T) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, file := range all {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent …; a name may be anything.
		pid, errPID := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		parent, errParent := strconv.Atoi(f[1])
		if err := errors.Join(errPID, errParent); err != nil {
			t.Fatal(err)
		}
		if f[0] != "Z" {
			children[parent] = append(children[parent], pid)
		}
	}
	n := 0
	for todo := []int{os.Getpid()}; len(todo) > 0; todo = todo[1:] {
		n += len(children[todo[0]])
		todo = append(todo, children[todo[0]]...)
	}
	return n
}
