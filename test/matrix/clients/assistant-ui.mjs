import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Window } from 'happy-dom';

/*
 * The runtime of assistant-ui on a page without a browser. It covers text that grows, a tool call, a question that is
 * answered, and a page that opens the thread again. Argument: url.
 */

const page = new Window({ url: 'http://page.test/' });
Object.assign(globalThis, { window: page, document: page.document });
const { createElement, useEffect, useMemo } = await import('react');
const { createRoot } = await import('react-dom/client');
const { AssistantRuntimeProvider } = await import('@assistant-ui/core/react');
const {
  unstable_createLangGraphStream,
  useLangGraphInterruptState,
  useLangGraphRuntime,
  useLangGraphSendCommand,
} = await import('@assistant-ui/react-langgraph');
const { Client } = await import('@langchain/langgraph-sdk');

const [apiUrl] = process.argv.slice(2);
const client = new Client({ apiUrl, apiKey: null });
const by = `assistant-ui ${randomUUID()}`;

const listed = ({ thread_id }) => ({
  status: 'regular',
  remoteId: thread_id,
  externalId: thread_id,
});

/** The page's list of threads is the server's. */
const threadList = {
  list: async () => ({ threads: (await client.threads.search({ metadata: { by } })).map(listed) }),
  initialize: async () => listed(await client.threads.create({ metadata: { by } })),
  fetch: async (threadId) => listed(await client.threads.get(threadId)),
  generateTitle: async () => new ReadableStream({ start: (controller) => controller.close() }),
};

/** Opens a page on a thread, or on none yet, and returns what a person sees and can do there. */
function open(threadId) {
  const seen = { texts: new Set() };
  function Chat() {
    const stream = useMemo(
      () => unstable_createLangGraphStream({ client, assistantId: 'agent' }),
      [],
    );
    const runtime = useLangGraphRuntime({
      stream,
      initialThreadId: threadId,
      unstable_threadListAdapter: threadList,
      load: async (externalId) => {
        const { values, tasks } = await client.threads.getState(externalId);
        return { messages: values.messages ?? [], interrupts: tasks[0]?.interrupts };
      },
    });
    seen.runtime = runtime;
    return createElement(AssistantRuntimeProvider, { runtime }, createElement(Inside));
  }
  function Inside() {
    seen.interrupt = useLangGraphInterruptState();
    seen.command = useLangGraphSendCommand();
    // The thread's own effects run after those of the page.
    useEffect(() => void setTimeout(() => (seen.isMounted = true), 50), []);
    return null;
  }
  const root = createRoot(page.document.createElement('div'));
  root.render(createElement(Chat));
  return { seen, close: () => root.unmount() };
}

/** Waits until the page shows something. */
async function until(what, isSo) {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (isSo()) return;
    await wait(10);
  }
  throw new Error(`The page never shows ${what}.`);
}

const messages = ({ runtime }) => runtime?.thread.getState().messages ?? [];
const parts = (seen, type) =>
  messages(seen).flatMap(({ content }) => content.filter((part) => part.type === type));
const texts = (seen) => parts(seen, 'text').map(({ text }) => text);
const isIdle = ({ runtime }) => runtime.thread.getState().isRunning === false;

const { seen, close } = open();
await until('a chat', () => seen.isMounted);
const steps = new Set();
seen.runtime.thread.subscribe(() => steps.add(texts(seen).at(-1)));
seen.runtime.thread.append('hello');
await until('the answer', () => texts(seen).at(-1) === 'Hello from the agent.' && isIdle(seen));
assert.ok(
  [...steps].includes('Hello from'),
  `the answer grows on the page: ${[...steps].join(' | ')}`,
);
assert.deepEqual(texts(seen), ['hello', 'Hello from the agent.']);

seen.runtime.thread.append('what is the weather?');
await until(
  'what the tool said',
  () => texts(seen).at(-1) === 'The tool said: Sunny in Rome.' && isIdle(seen),
);
const [call] = parts(seen, 'tool-call');
assert.deepEqual(
  [call.toolName, JSON.parse(call.argsText), call.result],
  ['weather', { city: 'Rome' }, 'Sunny in Rome.'],
);

seen.runtime.thread.append('delete the file');
await until('the question', () => seen.interrupt !== undefined && isIdle(seen));
assert.deepEqual(seen.interrupt.value, { question: 'Delete a.txt?' });
close();

// The page is loaded again and finds the thread in its list. The question waits there.
const { threads } = await threadList.list();
assert.equal(threads.length, 1);
const { seen: later, close: end } = open(threads[0].remoteId);
await until('the question again', () => later.interrupt !== undefined);
await later.command({ resume: 'yes' });
await until(
  'the answer to it',
  () => texts(later).at(-1) === 'The tool said: a.txt is deleted.' && isIdle(later),
);
assert.equal(later.interrupt, undefined);
assert.equal(parts(later, 'tool-call').at(-1).result, 'a.txt is deleted.');
end();
await page.happyDOM.close();
