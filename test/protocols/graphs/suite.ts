import { AIMessage } from '@langchain/core/messages';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';

/* The tools that the conformance suite calls by name, as far as agents can be such tools. */

const State = Annotation.Root({ text: Annotation<string>() });

const form = (message: string, properties: object): object => ({
  message,
  requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
});

const name = (message: string): string =>
  interrupt<unknown, { name: string }>(form(message, { name: { type: 'string' } })).name;

export const simple = new StateGraph(State)
  .addNode('say', () => ({ text: 'This is a simple text response for testing.' }))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

export const failing = new StateGraph(State)
  .addNode('fail', () => {
    throw new Error('This tool intentionally returns an error for testing');
  })
  .addEdge(START, 'fail')
  .addEdge('fail', END)
  .compile();

export const slow = new StateGraph(State)
  .addNode('begin', () => ({ text: 'begun' }))
  .addNode('go_on', () => ({ text: 'half' }))
  .addNode('finish', () => ({ text: 'done' }))
  .addEdge(START, 'begin')
  .addEdge('begin', 'go_on')
  .addEdge('go_on', 'finish')
  .addEdge('finish', END)
  .compile();

export const asking = new StateGraph(State)
  .addNode('ask', () => {
    const asked = {
      ...form('What is your name?', { name: { type: 'string' } }),
      name: 'user_name',
    };
    return { text: `Hello, ${interrupt<unknown, { name: string }>(asked).name}!` };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

export const confirming = new StateGraph(State)
  .addNode('confirm', () => {
    interrupt(form('Please confirm', { ok: { type: 'boolean' } }));
    return { text: 'state-ok' };
  })
  .addEdge(START, 'confirm')
  .addEdge('confirm', END)
  .compile();

export const twice = new StateGraph(State)
  .addNode('first', () => ({ text: name('Step 1: What is your name?') }))
  .addNode('second', ({ text }) => {
    const { color } = interrupt<unknown, { color: string }>(
      form('Step 2: What is your favorite color?', { color: { type: 'string' } }),
    );
    return { text: `${text} likes ${color}` };
  })
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

type Block = Record<string, unknown> & { type: string };

/** A graph whose agent says these blocks. */
const saying = (...content: Block[]) =>
  new StateGraph(MessagesAnnotation)
    .addNode('say', () => ({ messages: [new AIMessage({ content })] }))
    .addEdge(START, 'say')
    .addEdge('say', END)
    .compile();

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const pixel: Block = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};
const file = (mimeType: string, text: string): Block => ({
  type: 'file',
  mimeType,
  data: base64(text),
});

export const picture = saying(pixel);
export const sound = saying({ type: 'audio', mimeType: 'audio/wav', data: base64('RIFF....WAVE') });
export const document = saying(file('text/plain', 'This is an embedded resource content.'));
export const mixed = saying(
  { type: 'text', text: 'Multiple content types test:' },
  pixel,
  file('application/json', '{"test":"data","value":123}'),
);
