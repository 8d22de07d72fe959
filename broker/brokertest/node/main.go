// Node is one nats-server with JetStream for tests, as a process that can be
// killed. It ends in order at SIGTERM, and by itself when its standard input
// ends, so that none outlives its test.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if err := shortenTimeouts(); err != nil {
		return err
	}
	o := &server.Options{
		Host: loopback, NoSigs: true, JetStream: true, MaxPayload: 2 << 20, Logtime: true,
		JetStreamMaxStore: 16 << 30, JetStreamMaxMemory: 64 << 20,
		HTTPHost: loopback,
	}
	o.Cluster.Host = loopback
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	flags.StringVar(&o.ServerName, "name", "", "")
	flags.StringVar(&o.StoreDir, "dir", "", "")
	flags.IntVar(&o.Port, "port", 0, "")
	flags.IntVar(&o.HTTPPort, "http", 0, "")
	flags.IntVar(&o.Cluster.Port, "cluster", 0, "0: alone")
	flags.StringVar(&o.LogFile, "log", "", "")
	routes := flags.String("routes", "", "")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	if o.Cluster.Port != 0 {
		o.Cluster.Name = "brokertest"
		o.Cluster.NoAdvertise = true // who was given a way to a server takes no other
		o.Routes = server.RoutesFromStr(*routes)
	}
	srv, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("make the server: %w", err)
	}
	srv.ConfigureLogger()
	srv.Start()
	if !srv.ReadyForConnections(60 * time.Second) {
		return fmt.Errorf("the server does not start")
	}
	fmt.Println("ready")

	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end <- syscall.SIGTERM
	}()
	<-end
	srv.Shutdown()
	srv.WaitForShutdown()
	return nil
}

const loopback = "127.0.0.1"
