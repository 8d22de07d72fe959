package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/tools/mcp/reception"
)

func serveCommand(p program) *cobra.Command {
	o := &operator{program: p}
	return o.bindAdmin(&cobra.Command{
		Use:   "serve",
		Short: "Be an MCP server over standard input and output, by which a program asks people",
		Long: `serve is for programs that start MCP servers: editors, agents. Its tool ask_person asks one
of the people of mcp.serve in their chat, by the gateway that runs, and returns the
answer; answer_of returns it later. The gateway keeps the question, so serve and the
gateway may end and start again meanwhile. It has to run as the user that the gateway
runs as.`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, o *operator, ask *admin.Client, _ []string) error {
		return reception.Server{Desk: frontDesk{ask}, Version: version()}.Serve(ctx, o.in, o.out) // it says what failed
	})
}

// frontDesk asks people by the gateway that runs.
type frontDesk struct{ gateway *admin.Client }

var _ reception.Desk = frontDesk{}

// People implements [reception.Desk].
func (d frontDesk) People(ctx context.Context) (all []reception.Person, err error) {
	page, err := d.gateway.People(ctx)
	for _, p := range page.People {
		all = append(all, reception.Person{Name: p.Name, About: p.About})
	}
	return all, deskError(err)
}

// Ask implements [reception.Desk].
func (d frontDesk) Ask(ctx context.Context, q reception.Question, wait time.Duration) (reception.Standing, error) {
	i, err := d.gateway.Ask(ctx, admin.Question{Key: q.Key, Person: q.Person, Text: q.Text, Choices: q.Choices}, wait)
	return standingOf(i), deskError(err)
}

// Look implements [reception.Desk].
func (d frontDesk) Look(ctx context.Context, key string, wait time.Duration) (reception.Standing, error) {
	i, err := d.gateway.Inquiry(ctx, key, wait)
	return standingOf(i), deskError(err)
}

func standingOf(i admin.Inquiry) reception.Standing {
	return reception.Standing{Key: i.Key, State: string(i.State), Person: i.Person, Answer: i.Answer, Expires: i.Expires.UTC().Format(time.RFC3339)}
}

// deskError returns err as reception.ErrAway where no gateway has answered, or one that could not, and
// as reception.ErrNone where it knows nothing of a question.
func deskError(err error) error {
	e, answered := errors.AsType[*admin.Error](err)
	switch {
	case answered && e.Kind == admin.NotFound:
		return fmt.Errorf("%w (%w)", reception.ErrNone, err)
	case err == nil, errors.Is(err, admin.ErrNotYours), answered && e.Kind != admin.Failed:
		return err
	}
	return fmt.Errorf("%w (%w)", reception.ErrAway, err)
}
