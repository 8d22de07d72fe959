package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway/listeners"
)

// healthcheckTimeout is longer than a gateway takes for its checks.
const healthcheckTimeout = 4 * time.Second

// maxReport is more than any report of a gateway has.
const maxReport = 1 << 20

func healthcheckCommand(p program) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the gateway on this machine whether it is ready, for a container's health check",
		Long: `healthcheck asks /readyz at ops.listen of the configuration, which a gateway on
this machine answers. It ends with 0 when that is ready, with 1 when it is not, and
says why, and with 69 when none answers within four seconds. A network that is down
does not make a gateway unready; parley status says more.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listen, err := configs.LoadOpsListen(file, p.getenv)
			if err != nil {
				return &exitError{exitConfig, err}
			}
			address, err := dialable(listen)
			if err != nil {
				return &exitError{exitConfig, fmt.Errorf("parley: %s: %w", file, err)}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthcheckTimeout)
			defer cancel()
			if err := checkReady(ctx, address); err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, "ready")
			return writeError(err)
		},
	}
	c.Flags().StringVarP(&file, "config", "c", "parley.yaml", "the configuration that the gateway runs with")
	if err := c.MarkFlagFilename("config", "yaml", "yml"); err != nil {
		panic(err) // the flag is the one above
	}
	return c
}

var (
	errOpsOff  = errors.New("ops.listen is off, so there is nothing to ask: name an address such as 127.0.0.1:9464")
	errAnyPort = errors.New("ops.listen has port 0, which is another at each start: name a port")
)

// dialable returns where this machine reaches a listener: one that listens on every
// interface is on loopback, too.
func dialable(listen string) (string, error) {
	if listen == listeners.Off {
		return "", errOpsOff
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("ops.listen: %w", err)
	}
	if strings.Trim(port, "0") == "" {
		return "", errAnyPort
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}

// checkReady asks the gateway at address; the error carries the exit status.
func checkReady(ctx context.Context, address string) error {
	// Directly: a proxy of the environment is for other machines.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return &exitError{exitConfig, fmt.Errorf("parley: ops.listen: %w", err)}
	}
	resp, err := client.Do(req)
	if err != nil {
		return &exitError{exitNobody, fmt.Errorf("parley: no gateway answers at %s: %w", address, errors.Unwrap(err))}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var report map[string]string
	err = json.NewDecoder(io.LimitReader(resp.Body, maxReport)).Decode(&report)
	if resp.StatusCode != http.StatusServiceUnavailable || err != nil {
		return &exitError{exitNobody, fmt.Errorf("parley: at %s something else than a gateway answers: status %d to GET /readyz", address, resp.StatusCode)} // for the operator
	}
	var why []string
	for _, name := range slices.Sorted(maps.Keys(report)) {
		if report[name] != "ok" {
			why = append(why, sanitize(name+": "+report[name]))
		}
	}
	return &exitError{exitFailed, errors.New("parley: not ready: " + strings.Join(why, "; "))} // for the operator
}
