// Kinds reads Kubernetes objects from standard input, as kustomize build prints them, into
// the types of the API server, strictly: a kind, a field or a value that it does not know is
// an error. It is a module of its own, since parley needs nothing of Kubernetes.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kinds:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(in))
	n := 0
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read document %d: %w", n+1, err)
		}
		n++
		object, kind, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		_, _ = fmt.Fprintf(out, "%s %T\n", kind, object)
	}
	if n == 0 {
		return errors.New("no objects")
	}
	return nil
}
