// AG-UI's client for Go against the server at the address that is given: runs with tools, with reasoning, with a
// question, and one that fails, whose events decode and are in the order that the client's own check asks for.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/client/sse"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/events"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/types"
)

func newID() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:])
}

func run(url, graph, text, thread string, resume []types.ResumeEntry) []events.Event {
	payload := types.RunAgentInput{
		ThreadID: thread,
		RunID:    newID(),
		Messages: []types.Message{{ID: "first of " + thread, Role: "user", Content: text}},
		Tools:    []types.Tool{},
		Context:  []types.Context{},
		Resume:   resume,
	}
	client := sse.NewClient(sse.Config{Endpoint: url + "/ag-ui/" + graph})
	defer client.Close()
	frames, failures, err := client.Stream(sse.StreamOptions{Context: context.Background(), Payload: payload})
	check(err)
	var all []events.Event
	for frames != nil {
		select {
		case frame, open := <-frames:
			if !open {
				frames = nil
				continue
			}
			event, err := events.EventFromJSON(frame.Data)
			check(err)
			check(event.Validate())
			all = append(all, event)
		case err := <-failures:
			check(err)
		}
	}
	check(events.ValidateSequence(all))
	return all
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func count(all []events.Event, kind events.EventType) int {
	found := 0
	for _, event := range all {
		if event.Type() == kind {
			found++
		}
	}
	return found
}

func expect(is bool, all []events.Event) {
	if is {
		return
	}
	for _, event := range all {
		text, _ := event.ToJSON()
		fmt.Println(string(text))
	}
	panic("these events are not the expected ones")
}

func main() {
	url := os.Args[1]
	called := run(url, "chat", "calls", newID(), nil)
	expect(count(called, events.EventTypeToolCallStart) == 2 && count(called, events.EventTypeToolCallResult) == 2, called)
	thought := run(url, "chat", "think", newID(), nil)
	expect(count(thought, events.EventTypeReasoningMessageContent) == 2, thought)
	thread := newID()
	asked := run(url, "approval", "go", thread, nil)
	finished, is := asked[len(asked)-1].(*events.RunFinishedEvent)
	expect(is && finished.Outcome != nil && len(finished.Outcome.Interrupts) == 1, asked)
	answer := types.ResumeEntry{
		InterruptID: finished.Outcome.Interrupts[0].ID,
		Status:      "resolved",
		Payload:     map[string]any{"ok": true},
	}
	went := run(url, "approval", "go", thread, []types.ResumeEntry{answer})
	expect(count(went, events.EventTypeTextMessageContent) == 1, went)
	failed := run(url, "chat", "fail", newID(), nil)
	expect(count(failed, events.EventTypeRunError) == 1, failed)
}
