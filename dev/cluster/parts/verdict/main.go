// verdict: what others make of a resource's state. Reads {"object": ..., "health": "Lua"} a line, and answers each with the status that
// kstatus computes (what Flux, kapp and `kustomize` wait for) and the health that Argo CD's way of running the script gives.
package main

import (
	"bufio"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type question struct {
	Object map[string]any `json:"object"`
	Health string         `json:"health"`
}

type verdict struct {
	Status  string `json:"status"`
	Health  string `json:"health"`
	Message string `json:"message"`
}

func main() {
	if err := answerAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerAll() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	answers := stdjson.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		// Whole numbers stay whole, as kstatus wants its generations.
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		given, err := answer(asked)
		if err != nil {
			return err
		}
		if err := answers.Encode(given); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answer(asked question) (verdict, error) {
	computed, err := status.Compute(&unstructured.Unstructured{Object: asked.Object})
	if err != nil {
		return verdict{}, err
	}
	health, message, err := healthOf(asked)
	return verdict{Status: computed.Status.String(), Health: health, Message: message}, err
}

// healthOf runs the script as Argo CD does: base, table and string libraries only, the resource in the global obj, a table as the answer.
func healthOf(asked question) (health, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	state.SetGlobal("obj", toLua(state, asked.Object))
	if err := state.DoString(asked.Health); err != nil {
		return "", "", err
	}
	told, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return "", "", errors.New("the health script answered no table")
	}
	return told.RawGetString("status").String(), told.RawGetString("message").String(), nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch known := value.(type) {
	case bool:
		return lua.LBool(known)
	case int64:
		return lua.LNumber(known)
	case float64:
		return lua.LNumber(known)
	case string:
		return lua.LString(known)
	case []any:
		table := state.CreateTable(len(known), 0)
		for _, item := range known {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(known))
		for key, item := range known {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
