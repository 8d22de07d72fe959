package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"parley/costs"
	"parley/gateway/page"
)

// errForm is a form that no page of parley has.
var errForm = errors.New("the form does not say what to do")

func decideByForm(ctx context.Context, r *http.Request, ask *Client) (said, next string, err error) {
	yes := r.PostFormValue("do") == "approve"
	if !yes && r.PostFormValue("do") != "deny" {
		return "", "/waiting", errForm
	}
	a, err := ask.Decide(ctx, r.PathValue("id"), yes)
	if err != nil {
		return "", "/waiting", err
	}
	said = "Refused."
	if yes {
		said = "Permitted, once."
	}
	if a.Queued {
		said += " It is carried out when the turn that runs there has ended."
	}
	return said, "/waiting", nil
}

func changeLetterByForm(ctx context.Context, r *http.Request, ask *Client) (said, next string, err error) {
	id := r.PathValue("id")
	place, err := strconv.ParseUint(r.PostFormValue("place"), 10, 64)
	if err != nil {
		return "", "/trouble", errForm
	}
	switch r.PostFormValue("do") {
	case "redeliver":
		said = "Given to the bot again."
		_, err = ask.DeadLetters().Redeliver(ctx, id, place)
	case "drop":
		said = "Forgotten."
		_, err = ask.DeadLetters().Drop(ctx, id, place)
	default:
		err = errForm
	}
	return said, "/trouble", err
}

// backFrom returns where a form of a budget's card leads: to the session on whose page that stands, or to
// the overview.
func backFrom(r *http.Request) string {
	if back := r.PostFormValue("back"); back != "" {
		return "/sessions/" + url.PathEscape(back)
	}
	return "/"
}

func revokeByForm(ctx context.Context, r *http.Request, ask *Client) (said, next string, err error) {
	next = backFrom(r)
	taken, err := ask.Revoke(ctx, r.PathValue("id"))
	if err != nil {
		return "", next, err
	}
	return fmt.Sprintf("Taken back: the budget is lower by %s again.", money(taken.Amount)), next, nil
}

func raiseByForm(ctx context.Context, r *http.Request, ask *Client) (said, next string, err error) {
	next = backFrom(r)
	amount, err := costs.ParseAmount(r.PostFormValue("amount"))
	if err != nil {
		return "", next, fmt.Errorf("by how many dollars: %w", err)
	}
	d, err := time.ParseDuration(r.PostFormValue("for"))
	if err != nil {
		return "", next, fmt.Errorf("for how long: %w", err)
	}
	raised, err := ask.Raise(ctx, RaiseQuery{
		Budget: r.PostFormValue("budget"), Amount: USD(amount), For: d,
		Channel: r.PostFormValue("channel"), Person: r.PostFormValue("person"), Group: r.PostFormValue("group"), Session: r.PostFormValue("session"),
	})
	if err != nil {
		return "", next, err
	}
	return fmt.Sprintf("Raised by %s until %s UTC.", money(raised.Amount), page.When(raised.Until)), next, nil
}
