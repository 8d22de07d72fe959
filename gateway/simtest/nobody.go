package simtest

import (
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/delivery"
	"parley/gateway/outcomes"
	"parley/gateway/worker"
	"parley/llm"
)

// nobody counts nothing.
type nobody struct{}

var (
	_ worker.Observer   = nobody{}
	_ delivery.Observer = nobody{}
)

func (nobody) Ignored(string, string)                                  {}
func (nobody) Deduplicated(string, string)                             {}
func (nobody) DeadLettered(string, string)                             {}
func (nobody) Lost(int)                                                {}
func (nobody) TurnStarted(string, time.Duration)                       {}
func (nobody) TurnWaiting(string, int)                                 {}
func (nobody) TurnRunning(string, int)                                 {}
func (nobody) TurnEnded(outcomes.Turn)                                 {}
func (nobody) BudgetDenied(string, string)                             {}
func (nobody) ModelCalled(agent.CallReport)                            {}
func (nobody) ModelRetried(costs.Labels, llm.Kind)                     {}
func (nobody) ToolCalled(string, costs.Purpose, string, time.Duration) {}
func (nobody) Sent(string, string, time.Duration)                      {}
func (nobody) SendRetried(string, string)                              {}
func (nobody) FirstReply(string, bool, time.Duration)                  {}
