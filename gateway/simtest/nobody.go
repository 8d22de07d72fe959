package simtest

import (
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/delivery"
	"parley/gateway/outcomes"
	"parley/gateway/worker"
	"parley/llm"
	"parley/transcript"
)

// noopObserver counts nothing.
type noopObserver struct{}

var (
	_ worker.Observer   = noopObserver{}
	_ delivery.Observer = noopObserver{}
)

func (noopObserver) CountIgnored(string, string)                             {}
func (noopObserver) CountDuplicate(string, string)                           {}
func (noopObserver) CountDeadLetter(string, string)                          {}
func (noopObserver) CountLost(int)                                           {}
func (noopObserver) TurnStarted(string, time.Duration)                       {}
func (noopObserver) TurnWaiting(string, int)                                 {}
func (noopObserver) TurnRunning(string, int)                                 {}
func (noopObserver) TurnEnded(outcomes.Turn)                                 {}
func (noopObserver) BudgetDenied(string, string)                             {}
func (noopObserver) WorkerEnded(int)                                         {}
func (noopObserver) ModelCalled(agent.CallReport)                            {}
func (noopObserver) ApprovalDecided(string)                                  {}
func (noopObserver) GoalCompleted(string)                                    {}
func (noopObserver) Compacted(transcript.Overlay, time.Time)                 {}
func (noopObserver) ModelRetried(costs.Labels, llm.Kind)                     {}
func (noopObserver) ModelFellBack(agent.FallbackReport)                      {}
func (noopObserver) ToolCalled(string, costs.Purpose, string, time.Duration) {}
func (noopObserver) CountSent(string, string, time.Duration)                 {}
func (noopObserver) SendRetried(string, string)                              {}
func (noopObserver) FirstReply(string, bool, time.Duration)                  {}
