package brokertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// AwaitHealthy waits until every server that runs is in step with the cluster.
func (c *Nodes) AwaitHealthy() {
	c.t.Helper()
	for i, n := range c.nodes {
		if !n.isRunning() {
			continue
		}
		c.await(fmt.Sprintf("server %d to be in step", i), func() bool {
			return c.get(i, "/healthz", nil) == nil
		})
	}
	c.await("a leader of the cluster", func() bool {
		for i, n := range c.nodes {
			if !n.isRunning() {
				continue
			}
			var v struct {
				Meta *struct {
					Leader   string `json:"leader"`
					Replicas []struct {
						Offline bool `json:"offline"`
						Current bool `json:"current"`
					} `json:"replicas"`
				} `json:"meta_cluster"`
			}
			if err := c.get(i, "/jsz", &v); err != nil {
				return false
			}
			if len(c.nodes) > 1 && (v.Meta == nil || v.Meta.Leader == "") {
				return false
			}
		}
		return true
	})
}

// Leader returns the server that leads a stream, such as INBOUND; it waits for one.
func (c *Nodes) Leader(stream string) int {
	c.t.Helper()
	leader := -1
	c.await("a leader of stream "+stream, func() bool {
		for i, n := range c.nodes {
			if !n.isRunning() {
				continue
			}
			if name := c.leaderSeenBy(i, stream); name != "" {
				for j, m := range c.nodes {
					if m.name == name && m.isRunning() {
						leader = j
						return true
					}
				}
			}
		}
		return false
	})
	return leader
}

// leaderSeenBy returns the name of the stream's leader as server i sees it.
func (c *Nodes) leaderSeenBy(i int, stream string) string {
	var v struct {
		Accounts []struct {
			Streams []struct {
				Name    string `json:"name"`
				Cluster *struct {
					Leader string `json:"leader"`
				} `json:"cluster"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if c.get(i, "/jsz?accounts=true&streams=true", &v) != nil {
		return ""
	}
	for _, a := range v.Accounts {
		for _, s := range a.Streams {
			switch {
			case s.Name != stream:
			case s.Cluster == nil:
				return c.nodes[i].name // alone
			default:
				return s.Cluster.Leader
			}
		}
	}
	return ""
}

func (n *node) isRunning() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd != nil
}

func (c *Nodes) await(what string, done func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatalf("waited %s for %s", Patience, what)
		}
	}
}

// get asks the monitoring port of server i.
func (c *Nodes) get(i int, path string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(c.nodes[i].http)+path, nil)
	if err != nil {
		return fmt.Errorf("ask server %d: %w", i, err)
	}
	req.Close = true // no connection stays open
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask server %d: %w", i, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask server %d for %s: %s", i, path, resp.Status)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("ask server %d for %s: %w", i, strings.TrimSpace(path), err)
	}
	return nil
}
