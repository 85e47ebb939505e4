import { describe, expect, test } from 'vitest';
import {
  EMPTY,
  entriesOf,
  opened,
  withEvent,
  withSent,
  withState,
  type Conversation,
  type Message,
} from '../../../../src/agent/dev/chat/page/conversation.ts';

const human: Message = { id: 'h', type: 'human', content: 'roll' };
const piece = (content: Message['content'], others: Partial<Message> = {}): Message => ({
  id: 'a',
  type: 'AIMessageChunk',
  content,
  ...others,
});
const told = (...messages: Message[]): Conversation =>
  messages.reduce((now, message) => withEvent(now, { event: 'messages', data: [message, {}] }), EMPTY);
const texts = (conversation: Conversation): string[] => entriesOf(conversation).map(({ speaker, text }) => `${speaker}: ${text}`);

describe('the conversation that the chat page shows', () => {
  test('tokens become one message, whether text or blocks', () => {
    expect(texts(told(piece('Good '), piece([{ type: 'text', text: 'news' }, { type: 'image' }])))).toEqual(['agent: Good news']);
  });

  test('pictures and files are shown with what is said, in each form that they have', () => {
    const content = [
      { type: 'text', text: 'Look:' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA', metadata: { filename: 'pixel.png' } },
      { type: 'image_url', image_url: { url: 'data:image/gif;base64,BBBB' } },
      { type: 'file', source_type: 'base64', mime_type: 'application/pdf', data: 'CCCC' },
      { type: 'image', url: 'https://example.com/a.png' },
      { type: 'file', url: 'javascript:alert(1)' },
    ];
    const [entry] = entriesOf(told({ id: 'a', type: 'ai', content }));
    expect(entry).toMatchObject({ text: 'Look:' });
    expect(entry?.files).toEqual([
      { kind: 'picture', name: 'pixel.png', url: 'data:image/png;base64,AAAA' },
      { kind: 'picture', name: 'A picture', url: 'data:image/gif;base64,BBBB' },
      { kind: 'bytes', name: 'A file (application/pdf)', url: 'data:application/pdf;base64,CCCC' },
      { kind: 'link', name: 'https://example.com/a.png', url: 'https://example.com/a.png' },
    ]);
  });

  test('a message of a picture only is shown, too', () => {
    const content = [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }];
    expect(entriesOf(told({ id: 'a', type: 'ai', content })).map(({ files }) => files.length)).toEqual([1]);
  });

  test('the whole message takes the place of its pieces, and pieces that come again change nothing', () => {
    const whole: Message = { id: 'a', type: 'ai', content: 'Good news.' };
    expect(texts(told(piece('Good '), whole, piece('Good ')))).toEqual(['agent: Good news.']);
  });

  test('another attempt of the run begins its words anew', () => {
    const again = withEvent(withSent(told(piece('Go')), human), { event: 'metadata', data: { run_id: 'r', attempt: 2 } });
    expect(texts(again)).toEqual(['you: roll']);
  });

  test('a state replaces what was said, but for what is being said', () => {
    const now = withEvent(withSent(told(piece('Go')), human), { event: 'values', data: { messages: [human], draft: 'x' } });
    expect(texts(now)).toEqual(['you: roll', 'agent: Go']);
    expect(now.state).toEqual({ draft: 'x' });
    const ended = withState(now, { values: { messages: [human] } });
    expect(texts(ended)).toEqual(['you: roll']);
  });

  test('a tool is shown with what it was asked and what it answered, also while it is being asked', () => {
    const chunks = [
      { index: 0, id: 'c', name: 'dice', args: '{"si' },
      { index: 0, args: 'des":6}' },
    ];
    const asking = told(...chunks.map((chunk) => piece('', { tool_call_chunks: [chunk] })));
    expect(entriesOf(asking)[0]?.tools).toEqual([{ id: 'c', name: 'dice', args: '{"sides":6}', result: undefined, failed: false }]);
    const answer: Message = { id: 't', type: 'tool', tool_call_id: 'c', content: 'no dice', status: 'error' };
    const entries = entriesOf(withEvent(asking, { event: 'messages', data: [answer, {}] }));
    expect(entries).toHaveLength(1);
    expect(entries[0]?.tools[0]).toMatchObject({ result: 'no dice', failed: true });
  });

  test('a tool message that nobody asked for stands for itself', () => {
    expect(texts(told({ id: 't', type: 'tool', tool_call_id: 'other', content: 'four' }))).toEqual(['tool: four']);
  });

  test('the error of a thread and the questions of its state go when a run begins', () => {
    const failed = opened({ status: 'error', error: { error: 'Error', message: 'no' } });
    const asks = withState(failed, { values: null, tasks: [{ interrupts: [{ id: 'i', value: 'May I?' }] }] });
    expect(asks).toMatchObject({ questions: [{ id: 'i', value: 'May I?' }], error: 'Error: no' });
    expect(withSent(asks)).toMatchObject({ questions: [], error: undefined });
  });

  test('an error event is a sentence', () => {
    expect(withEvent(EMPTY, { event: 'error', data: { error: 'TypeError', message: 'x is no function' } }).error).toBe(
      'TypeError: x is no function',
    );
    expect(withEvent(EMPTY, { event: 'error', data: {} }).error).toBe('The run failed.');
  });
});
