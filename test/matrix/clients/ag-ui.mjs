import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { LangGraphAgent } from '@ag-ui/langgraph';

/*
 * The agent that AG-UI and CopilotKit put in front of a server. It covers text, a tool call, a question and its answer,
 * and a message that is edited. Argument: url.
 */

const [deploymentUrl] = process.argv.slice(2);
const agent = new LangGraphAgent({
  deploymentUrl,
  graphId: 'agent',
  emitInterruptOutcome: true,
  threadId: randomUUID(),
});

/** Runs the agent, and returns the events that a page receives. */
async function run(parameters = {}) {
  const events = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  assert.equal(events[0].type, 'RUN_STARTED');
  assert.equal(events.at(-1).type, 'RUN_FINISHED', JSON.stringify(events.at(-1)));
  return events;
}

const say = (content, id = randomUUID()) => agent.addMessage({ id, role: 'user', content });
const of = (events, type) => events.filter((event) => event.type === type);
/** The thread's messages as the server keeps them. */
const told = (events) =>
  of(events, 'MESSAGES_SNAPSHOT')
    .at(-1)
    .messages.map(({ role, content }) => [role, content]);

say('hello', 'first');
const greeted = await run();
assert.deepEqual(
  of(greeted, 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta),
  ['Hello', ' from', ' the', ' agent.'],
);
assert.deepEqual(
  [...new Set(of(greeted, 'STEP_STARTED').map(({ stepName }) => stepName))],
  ['model'],
);
assert.deepEqual(told(greeted), [
  ['user', 'hello'],
  ['assistant', 'Hello from the agent.'],
]);
assert.equal(of(greeted, 'STATE_SNAPSHOT').at(-1).snapshot.messages.length, 2);

say('what is the weather?');
const asked = await run();
const [{ toolCallId, toolCallName }] = of(asked, 'TOOL_CALL_START');
assert.equal(toolCallName, 'weather');
const pieces = of(asked, 'TOOL_CALL_ARGS').map(({ delta }) => delta);
assert.deepEqual(JSON.parse(pieces.join('')), { city: 'Rome' });
assert.ok(pieces.length > 1, 'arguments come in pieces');
assert.equal(of(asked, 'TOOL_CALL_END').length, 1);
assert.deepEqual(
  of(asked, 'TOOL_CALL_RESULT').map((event) => [event.toolCallId, event.content]),
  [[toolCallId, 'Sunny in Rome.']],
);
assert.deepEqual(told(asked).at(-1), ['assistant', 'The tool said: Sunny in Rome.']);

// A page edits its first message, and has instructions of its own. The agent goes on from the checkpoint before it.
agent.setMessages([
  { id: 'instructions', role: 'system', content: 'Be brief.' },
  { id: 'first', role: 'user', content: 'and the weather?' },
]);
const edited = await run();
assert.deepEqual(told(edited), [
  ['user', 'and the weather?'],
  ['assistant', ''],
  ['tool', 'Sunny in Rome.'],
  ['assistant', 'The tool said: Sunny in Rome.'],
]);

say('delete the file');
const stopped = await run();
const { outcome } = stopped.at(-1);
assert.equal(outcome.type, 'interrupt');
assert.equal(outcome.interrupts.length, 1);
const resumed = await run({
  resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: 'yes' }],
});
assert.equal(of(resumed, 'TOOL_CALL_RESULT').at(-1).content, 'a.txt is deleted.');
assert.deepEqual(told(resumed).at(-1), ['assistant', 'The tool said: a.txt is deleted.']);
