import { describe, expect, test } from 'vitest';
import { serverSentEvents } from '../../../../src/agent/dev/chat/page/server-sent-events.ts';
import { inputOf, paragraphsOf, resumeOf, titleOf, wordsOf } from '../../../../src/agent/dev/chat/page/words.ts';

describe('what a person writes on the chat page', () => {
  test.each([
    ['hello', { messages: [{ type: 'human', content: 'hello' }] }],
    ['42', { messages: [{ type: 'human', content: '42' }] }],
    ['[1]', { messages: [{ type: 'human', content: '[1]' }] }],
    ['{"topic": "tea"}', { topic: 'tea' }],
  ])('%s is the input', (text, input) => expect(inputOf(text).input).toEqual(input));

  test('one question takes the answer as it is, several take theirs by id', () => {
    expect(resumeOf([{ id: 'a' }], ['yes'])).toBe('yes');
    expect(resumeOf([{ id: 'a' }], ['true'])).toBe(true);
    expect(resumeOf([{ id: 'a' }, { id: 'b' }], ['yes', '{"n": 1}'])).toEqual({ a: 'yes', b: { n: 1 } });
  });
});

describe('words of the chat page', () => {
  test.each([
    ['May I?', { text: 'May I?', details: undefined }],
    [{ question: 'May I?' }, { text: 'May I?', details: undefined }],
    [
      { question: 'May I?', draft: 'x' },
      { text: 'May I?', details: '{\n  "draft": "x"\n}' },
    ],
    [{ tool: 'x' }, { text: 'The agent waits for an answer.', details: '{\n  "tool": "x"\n}' }],
    [true, { text: 'true', details: undefined }],
  ])('the question %j', (value, words) => expect(wordsOf(value)).toEqual(words));

  test('a thread is named by what was said first', () => {
    const messages = [{ type: 'human', content: `${'word '.repeat(20)}\nend` }];
    expect(titleOf({ thread_id: 't', values: { messages } })).toMatch(/^word word .*…$/);
    expect(titleOf({ thread_id: '0123456789', values: null })).toBe('Thread 01234567');
  });

  test('fences, code and bold words', () => {
    expect(paragraphsOf('a **b** `c`\n\n```js\nd();\n```\ne')).toEqual([
      {
        kind: 'text',
        pieces: [
          { kind: 'plain', text: 'a ' },
          { kind: 'strong', text: 'b' },
          { kind: 'plain', text: ' ' },
          { kind: 'code', text: 'c' },
        ],
      },
      { kind: 'code', text: 'd();' },
      { kind: 'text', pieces: [{ kind: 'plain', text: 'e' }] },
    ]);
  });

  test('a fence that is not closed yet is code already', () => {
    expect(paragraphsOf('a\n```\nb')).toMatchObject([{ kind: 'text' }, { kind: 'code', text: 'b' }]);
  });
});

describe('server-sent events', () => {
  const read = (...pieces: string[]) =>
    Array.fromAsync(
      serverSentEvents(
        (async function* () {
          yield* pieces;
        })(),
      ),
    );

  test('cut anywhere, with signs of life between them', async () => {
    const text = 'event: a\r\nid: 1\r\ndata: {"b":1}\r\n\r\n: alive\n\ndata: 2\n\nevent: lost\ndata: 3';
    expect(await read(...text.split(''))).toEqual([
      { event: 'a', data: { b: 1 } },
      { event: 'message', data: 2 },
    ]);
  });
});
