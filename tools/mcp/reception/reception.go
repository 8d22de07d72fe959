// Package reception is the MCP server by which programs ask people: parley mcp serve.
//
// It keeps nothing. What was asked, and what was answered, is with whoever stands behind its Desk,
// so the end of this process loses nothing: the program that starts it again asks again, with the
// same key, and gets the answer. See docs/decisions/0099. Whoever knows tasks of the protocol gets a
// question as one: 0117.
package reception

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp/tasks"
)

// Desk asks people. Its methods are called concurrently.
type Desk interface {
	// People returns whom it asks.
	People(ctx context.Context) ([]Person, error)
	// Ask has a person asked, unless that was done already, and returns how that stands when it is
	// answered or wait is over.
	Ask(ctx context.Context, q Question, wait time.Duration) (Standing, error)
	// Look returns how the question of a key stands when it is answered or wait is over, or ErrNone.
	Look(ctx context.Context, key string, wait time.Duration) (Standing, error)
}

// ErrNone means that nothing was asked with a key, or that it is forgotten by now.
var ErrNone = errors.New("nothing was asked with this key")

// ErrAway means that a Desk cannot be asked for the moment. What was asked may have been taken up.
var ErrAway = errors.New("parley is not running at the moment")

// Person is somebody who may be asked.
type Person struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
}

// Question is what a person is asked. The same Key is the same question.
type Question struct {
	Key     string   `json:"key" jsonschema:"names this question, up to 128 characters; choose one that you find again after a crash. The same key is never asked twice: it returns the answer to the question that was asked with it"`
	Person  string   `json:"person" jsonschema:"whom to ask, by a name of list_people"`
	Text    string   `json:"question" jsonschema:"what the person reads: plain text, at most 1500 bytes. They see nothing else of what you do, so say all that they need to decide"`
	Choices []string `json:"choices,omitempty" jsonschema:"2 to 8 answers of which the person takes one, each at most 40 bytes. None: the person answers in words of their own"`
	Wait    *int     `json:"wait_seconds,omitempty" jsonschema:"how long this call waits for the answer, 0 to 60; default 50"`
}

type lookup struct {
	Key  string `json:"key" jsonschema:"of the question, as it was given to ask_person"`
	Wait *int   `json:"wait_seconds,omitempty" jsonschema:"how long this call waits for the answer, 0 to 60; default 50"`
}

// Standing is how a question stands.
type Standing struct {
	Key     string `json:"key"`
	State   string `json:"state" jsonschema:"waiting, answered or expired"`
	Person  string `json:"person"`
	Answer  string `json:"answer,omitempty"`
	Expires string `json:"expires" jsonschema:"until when the person may answer"`
	// Next says what the program may do now.
	Next string `json:"next,omitempty"`
}

type people struct {
	People []Person `json:"people"`
}

// Bounds of how long a call waits. Many programs give a call a minute.
const (
	defaultWait = 50 * time.Second
	maxWait     = 60 * time.Second
	retryEvery  = 500 * time.Millisecond
)

//go:embed ask_person.md
var askDescription string

// Server is the MCP server of a Desk.
type Server struct {
	Desk    Desk
	Version string
}

// Serve speaks over in and out until in ends or ctx does.
func (s Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	srv, err := s.server()
	if err != nil {
		return err
	}
	err = srv.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: keepOpen{out}})
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("speak MCP: %w", err)
	}
	return nil
}

// keepOpen is a stream that its owner closes.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

func (s Server) server() (*sdk.Server, error) {
	capabilities := &sdk.ServerCapabilities{}
	capabilities.AddExtension(tasks.Extension, nil)
	srv := sdk.NewServer(&sdk.Implementation{Name: "parley", Title: "Ask people in their chats", Version: s.Version}, &sdk.ServerOptions{Capabilities: capabilities})
	no := false
	sdk.AddTool(srv, &sdk.Tool{
		Name: "list_people", Description: "Lists the people whom ask_person may ask, by their names.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, people, error) {
		all, err := s.Desk.People(ctx)
		if all == nil {
			all = []Person{}
		}
		return nil, people{all}, err
	})
	sdk.AddTool(srv, &sdk.Tool{
		Name: "ask_person", Description: strings.TrimSpace(askDescription),
		Annotations: &sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: &no},
	}, func(ctx context.Context, _ *sdk.CallToolRequest, q Question) (*sdk.CallToolResult, Standing, error) {
		if q.Wait == nil && tasks.Possible(ctx) {
			q.Wait = new(int) // it is asked for
		}
		res, st, err := s.await(ctx, q.Wait, func(wait time.Duration) (Standing, error) { return s.Desk.Ask(ctx, q, wait) })
		if err == nil && st.State == waiting {
			tasks.Begin(ctx, *taskOf(newTaskID(time.Now(), q.Key), st))
		}
		return res, st, err
	})
	sdk.AddTool(srv, &sdk.Tool{
		Name: "answer_of", Description: "Returns how a question of ask_person stands, with the answer if there is one. It may be called as often as needed.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, _ *sdk.CallToolRequest, l lookup) (*sdk.CallToolResult, Standing, error) {
		return s.await(ctx, l.Wait, func(wait time.Duration) (Standing, error) { return s.Desk.Look(ctx, l.Key, wait) })
	})
	if err := tasks.Serve(srv, questions{s.Desk}); err != nil {
		return nil, fmt.Errorf("serve tasks: %w", err)
	}
	return srv, nil
}

// await calls ask until it answers or the wait that the program wants is over: the Desk may be
// away for a while. What may be called again says so.
func (s Server) await(ctx context.Context, seconds *int, ask func(wait time.Duration) (Standing, error)) (*sdk.CallToolResult, Standing, error) {
	wait := defaultWait
	if seconds != nil {
		wait = time.Duration(*seconds) * time.Second
	}
	if wait < 0 || wait > maxWait {
		return nil, Standing{}, fmt.Errorf("wait_seconds is 0 to %d", int(maxWait.Seconds()))
	}
	over := time.Now().Add(wait)
	for {
		st, err := ask(max(0, time.Until(over)).Round(time.Millisecond))
		left := time.Until(over)
		switch {
		case err == nil && (st.State != waiting || left <= 0):
			st.Next = next(st)
			return nil, st, nil
		case err != nil && !errors.Is(err, ErrAway):
			return nil, st, err
		case err != nil && left <= 0:
			return nil, st, fmt.Errorf("%w. If you have asked already, the question and its answer are kept: call again later, with the same key", err)
		}
		pause := time.NewTimer(min(retryEvery, left))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, st, context.Cause(ctx)
		}
	}
}

// States of a question.
const (
	waiting = "waiting"
	expired = "expired"
)

// next says what may be done about a question that has no answer.
func next(st Standing) string {
	switch st.State {
	case waiting:
		return "The person was asked and has not answered yet. Go on with something else, and call answer_of with this key later, also after a restart. Do not ask again in other words."
	case expired:
		return "Nobody has answered in time. Take that for no, or ask with a new key."
	}
	return ""
}
