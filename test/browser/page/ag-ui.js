import { HttpAgent } from '@ag-ui/client';

/* A page without a framework that talks to an agent by AG-UI. The address says which agent, and on which thread. */

const query = new URLSearchParams(location.search);
const threadId = query.get('thread');
const url = `${query.get('api')}/ag-ui/${query.get('agent')}`;
const agent = new HttpAgent({ url, threadId });
let questions = [];

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');

function addElement(parent, tag, fields) {
  const element = Object.assign(document.createElement(tag), fields);
  parent.append(element);
  return element;
}

function show() {
  const main = document.querySelector('main');
  main.replaceChildren();
  main.dataset.state = JSON.stringify(agent.state);
  for (const { role, content } of agent.messages)
    addElement(main, 'li', { className: role, textContent: textOf(content) });
  for (const { id, message } of questions)
    addElement(main, 'button', {
      className: 'question',
      textContent: message,
      onclick: () => run({ resume: [{ interruptId: id, status: 'resolved', payload: 'yes' }] }),
    });
}

const subscriber = {
  onMessagesChanged: show,
  onStateChanged: show,
  onRunFinishedEvent: ({ event }) => {
    questions = event.outcome?.interrupts ?? [];
  },
};

async function run(parameters) {
  questions = [];
  document.body.dataset.runs = 'yes';
  await agent.runAgent(parameters, subscriber);
  document.body.dataset.runs = 'no';
  show();
}

window.say = (content) => {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
  return run({});
};
window.setNote = (note) => {
  agent.setState({ ...agent.state, note });
  return window.say('go');
};

// A page that was loaded again asks where its thread stands.
const connection = new HttpAgent({ url: `${url}/connect`, threadId });
await connection.runAgent(
  {},
  {
    onEvent: () => {
      agent.setMessages(connection.messages);
      agent.setState(connection.state);
      show();
    },
    ...subscriber,
    onMessagesChanged: undefined,
    onStateChanged: undefined,
  },
);
agent.setMessages(connection.messages);
agent.setState(connection.state);
show();
document.body.dataset.ready = 'yes';
