package telegram

import (
	"fmt"
	"net/http"
	"strconv"

	"parley/simulators/internal/stage"
)

// refusal is an answer with ok=false. A rule that refuses a call panics with it, as
// [stage.Refused] has it.
type refusal struct {
	code       int
	text       string
	retryAfter int
	migrateTo  int64
}

type wireError struct {
	OK          bool            `json:"ok"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  *wireErrorExtra `json:"parameters,omitempty"`
}

type wireErrorExtra struct {
	MigrateToChatID int64 `json:"migrate_to_chat_id,omitempty"`
	RetryAfter      int   `json:"retry_after,omitempty"`
}

func (e *refusal) write(w http.ResponseWriter) {
	out := wireError{ErrorCode: e.code, Description: e.text}
	if e.retryAfter != 0 || e.migrateTo != 0 {
		out.Parameters = &wireErrorExtra{MigrateToChatID: e.migrateTo, RetryAfter: e.retryAfter}
	}
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	stage.WriteBody(w, e.code, inJSON, mustJSON(out))
}

func badRequest(format string, args ...any) *refusal {
	return &refusal{code: http.StatusBadRequest, text: "Bad Request: " + fmt.Sprintf(format, args...)}
}

func forbidden(text string) *refusal {
	return &refusal{code: http.StatusForbidden, text: "Forbidden: " + text}
}

func conflict(text string) *refusal {
	return &refusal{code: http.StatusConflict, text: "Conflict: " + text}
}

func tooMany(seconds int) *refusal {
	return &refusal{
		code: http.StatusTooManyRequests, retryAfter: seconds,
		text: fmt.Sprintf("Too Many Requests: retry after %d", seconds),
	}
}

func notFound() *refusal { return &refusal{code: http.StatusNotFound, text: "Not Found"} }

func unauthorized() *refusal {
	return &refusal{code: http.StatusUnauthorized, text: "Unauthorized"}
}

// migrated is what every call to a group that became a supergroup gets.
func migrated(to int64) *refusal {
	e := badRequest("group chat was upgraded to a supergroup chat")
	e.migrateTo = to
	return e
}

const (
	textOusted     = "terminated by other getUpdates request; make sure that only one bot instance is running"
	textWebhook    = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	textSetWebhook = "terminated by setWebhook request"
	textUnmodified = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
	textOldQuery   = "query is too old and response timeout expired or query ID is invalid"
)
