package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley/tools/secrets"
)

// Variable is one of the program's environment. Nothing prints its value.
type Variable struct {
	Name  string `yaml:",key"`
	Value string `yaml:",value"`
	// Secrets are parts of Value that no output may show: what came from the gateway's
	// environment, or from a file.
	Secrets []string
}

// String returns the name alone.
func (v Variable) String() string { return v.Name + "=…" }

// GoString implements [fmt.GoStringer].
func (v Variable) GoString() string { return v.String() }

// MarshalJSON returns the name alone.
func (v Variable) MarshalJSON() ([]byte, error) { return json.Marshal(v.Name) }

var _ fmt.GoStringer = Variable{}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// What is wrong with a variable.
var (
	errVariableName  = errors.New("a variable's name is letters, digits and _, and begins with no digit")
	errVariableValue = errors.New("the value holds a zero byte, which no environment can")
)

// Check reports what is wrong with v, without its value.
func (v Variable) Check() error {
	switch {
	case !variableName.MatchString(v.Name):
		return errVariableName
	case strings.ContainsRune(v.Value, 0):
		return errVariableValue
	}
	return nil
}

// CheckReadOnly reports what is wrong with the path of a file or folder that a program is to be
// given for reading.
func CheckReadOnly(p string) error {
	switch top, _, _ := strings.Cut(strings.TrimPrefix(path.Clean(p), "/"), "/"); {
	case !filepath.IsAbs(p):
		return fmt.Errorf("%q is not an absolute path", p) // for the operator
	case top == "":
		return errors.New("/ is the whole machine: name what the program needs") // for the operator
	case strings.HasPrefix(path.Clean(p), "/dev/shm/"): // files like any other
		return nil
	case slices.Contains([]string{"proc", "dev", "sys", "workspace"}, top):
		return fmt.Errorf("what is below /%s cannot be given to a program", top) // for the operator
	}
	return checkKeys(path.Clean(p))
}

// checkKeys refuses a file or folder that holds keys, and a folder that holds such a one: nothing
// hides it from the program. A file inside, named by itself, is the operator's choice.
func checkKeys(p string) error {
	for _, secret := range secrets.Paths() {
		if p == secret || strings.HasPrefix(secret, p+"/") {
			return fmt.Errorf("%s holds keys and other secrets (%s): name the files that the program needs", p, secret) // for the operator
		}
	}
	for _, name := range secrets.Names() {
		if strings.HasSuffix(strings.ToLower(p), "/"+name) {
			return fmt.Errorf("%s holds keys: name the one file in it that the program needs, or a copy that has another name", p) // for the operator
		}
	}
	if homes := []string{"/home", "/Users"}; p == "/root" || slices.Contains(homes, p) || slices.Contains(homes, path.Dir(p)) {
		return fmt.Errorf("%s is where people keep their keys: name the files that the program needs", p) // for the operator
	}
	return nil
}

// LookReadOnly reports what is wrong with a path that [CheckReadOnly] accepts, as it is on this
// machine at present: where its links lead, and keys that lie in the folder itself.
func LookReadOnly(p string) error {
	resolved, err := filepath.EvalSymlinks(p)
	if err != nil {
		return err // it has the path
	}
	if resolved != filepath.Clean(p) {
		if err := CheckReadOnly(resolved); err != nil {
			return fmt.Errorf("its links lead to %s: %w", resolved, err)
		}
	}
	for _, name := range secrets.Names() {
		if _, err := os.Lstat(filepath.Join(resolved, name)); err == nil {
			return fmt.Errorf("%s is in it and holds keys: name the files that the program needs", name) // for the operator
		}
	}
	return nil
}
