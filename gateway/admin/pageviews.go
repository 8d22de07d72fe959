package admin

import (
	"context"
	"errors"
	"net/http"

	"parley/gateway/page"
)

// Pages returns what the operator page consists of. Everything that it shows and does is a question or
// an action of s, in the name of who has logged in.
func (s *Server) Pages() page.Pages {
	all := page.Pages{Views: map[string]page.View{}, Deeds: map[string]page.Deed{}}
	for pattern, v := range map[string]func(r *http.Request, ask *Client) (page.Page, error){
		"GET /{$}":                        overviewPage,
		"GET /sessions":                   sessionsPage,
		"GET /sessions/{id}":              sessionPage,
		"GET /sessions/{id}/turns/{turn}": turnPage,
		"GET /waiting":                    waitingPage,
		"GET /trouble":                    troublePage,
		"GET /dead-letters/{id}":          letterPageOf,
		"GET /actions":                    actionsPage,
		"GET /why":                        whyPageOf,
		"GET /{rest...}":                  missingPage,
	} {
		all.Views[pattern] = func(r *http.Request, by string) (page.Page, error) {
			if r.URL.Query().Get("words") == "1" {
				s.o.Logger.Info("operator read what people wrote", "path", r.URL.Path, "by", by)
			}
			return v(r, s.As(by))
		}
	}
	for pattern, d := range map[string]func(ctx context.Context, r *http.Request, ask *Client) (said, next string, err error){
		"POST /approvals/{id}":    decideByForm,
		"POST /dead-letters/{id}": changeLetterByForm,
		"POST /raise":             raiseByForm,
		"POST /raises/{id}":       revokeByForm,
	} {
		all.Deeds[pattern] = func(ctx context.Context, r *http.Request, by, once string) (said, next string, err error) {
			said, next, err = d(ctx, r, s.As(by).Once(once))
			if e, ok := errors.AsType[*Error](err); ok && e.Kind == Again { // what was wished is so
				return e.Message, next, nil
			}
			return said, next, err
		}
	}
	return all
}

// How many of each are on a page. Each costs the store a bounded number of questions.
const (
	perPage      = 25  // sessions
	latestShown  = 8   // sessions of the overview
	treeShown    = 100 // sessions of a tree, whose states are looked up
	turnsShown   = 50
	waitingShown = 20 // requests for permission, with their texts
	lettersShown = 50
	decidedShown = 10
)

func missingPage(*http.Request, *Client) (page.Page, error) {
	return page.Page{}, &Error{Status: http.StatusNotFound, Kind: NotFound, Message: "There is no such page."}
}
