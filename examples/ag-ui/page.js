import { HttpAgent } from '@ag-ui/client';

/*
 * A page without a framework: it shows what the agent says, shares a list with it, has a tool of its own, and answers
 * its questions. `?api=` is the address of the agent server. The thread is in the address, so a reload stays on it.
 */

const query = new URLSearchParams(location.search);
location.hash ||= crypto.randomUUID();
const url = `${query.get('api') ?? 'http://127.0.0.1:2024'}/ag-ui/shopping`;
const agent = new HttpAgent({ url, threadId: location.hash.slice(1), initialState: { items: [] } });
let questions = [];

const tools = [
  {
    name: 'paint',
    description: 'Paints the background of the page.',
    parameters: {
      type: 'object',
      properties: { colour: { type: 'string' } },
      required: ['colour'],
    },
  },
];

function paint({ colour }) {
  document.body.style.background = colour;
  return `The page is ${colour}.`;
}

function fill(id, elements) {
  document.getElementById(id).replaceChildren(...elements);
}

const make = (tag, fields) => Object.assign(document.createElement(tag), fields);

function show() {
  const { items = [] } = agent.state;
  fill(
    'items',
    items.map((textContent) => make('li', { textContent })),
  );
  fill(
    'messages',
    agent.messages
      .filter(({ role, content }) => content && (role === 'user' || role === 'assistant'))
      .map(({ role, content }) => make('p', { className: role, textContent: content })),
  );
  fill(
    'questions',
    questions.flatMap(({ id, message }) => [
      make('p', { textContent: message }),
      make('button', { textContent: 'Yes', onclick: () => answer(id, true) }),
      make('button', { textContent: 'No', onclick: () => answer(id, false) }),
    ]),
  );
  document.getElementById('stop').hidden = !agent.isRunning;
}

/** Runs the agent, and carries out the calls of the page's own tools until it has no more. */
async function run(parameters = {}) {
  questions = [];
  let outcome;
  await agent.runAgent(
    { tools, ...parameters },
    {
      onMessagesChanged: show,
      onStateChanged: show,
      onRunFinishedEvent: ({ event }) => {
        ({ outcome } = event);
      },
    },
  );
  questions = outcome?.interrupts ?? [];
  show();
  const pending = outcome?.pendingToolCallIds ?? [];
  const calls = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls);
  for (const { id, function: called } of calls.filter((call) => pending.includes(call.id)))
    agent.addMessage({
      id: crypto.randomUUID(),
      role: 'tool',
      toolCallId: id,
      content: paint(JSON.parse(called.arguments)),
    });
  if (pending.length > 0) await run();
}

const answer = (interruptId, ok) =>
  run({ resume: [{ interruptId, status: 'resolved', payload: { ok } }] });

function onText(id, handle) {
  const form = document.getElementById(id);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    handle(new FormData(form).get('text'));
    form.reset();
  });
}

onText('say', (content) => {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
  return run();
});
// The agent hears of it with the next run.
onText('add', (item) => {
  agent.setState({ ...agent.state, items: [...(agent.state.items ?? []), item] });
  show();
});
document.getElementById('stop').addEventListener('click', () => agent.abortRun());

// Where the thread stands, and the rest of a run under way.
const connection = new HttpAgent({ url: `${url}/connect`, threadId: agent.threadId });
await connection.runAgent(
  {},
  {
    onEvent: () => {
      agent.setMessages(connection.messages);
      agent.setState(connection.state);
      show();
    },
    onRunFinishedEvent: ({ event }) => {
      questions = event.outcome?.interrupts ?? [];
    },
  },
);
agent.setMessages(connection.messages);
agent.setState(connection.state);
show();
document.body.dataset.ready = 'yes';
