package admin

import (
	"net/http"
	"time"
)

// Reloaded is what became of a configuration that was read again, without a mistake.
type Reloaded struct {
	// Changed are the paths of the values that now hold, as they are in the configuration.
	Changed []string `json:"changed"`
	// NeedRestart are those that are as they were until the gateway is started again.
	NeedRestart []string `json:"needs_restart"`
}

// ReloadStatus is how reading the configuration again ended last.
type ReloadStatus struct {
	At          time.Time `json:"at"`                      // when it was tried last; at first the start
	Since       time.Time `json:"since"`                   // when the configuration in force was read
	Problem     string    `json:"problem,omitempty"`       // why the one of At is not in force
	NeedRestart []string  `json:"needs_restart,omitempty"` // see Reloaded
	// PricesWrong: the list of prices changed and could not be read.
	PricesWrong bool `json:"prices_wrong,omitempty"`
}

// reloadPath is where Prometheus and its kin have it.
const reloadPath = "/-/reload"

func (s *Server) reload(*http.Request) (any, error) {
	r, err := s.o.Reload()
	if err != nil {
		return nil, newError(BadConfig, "%v", err)
	}
	return r, nil
}
