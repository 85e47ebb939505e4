import { describe, expect, test } from 'vitest';
import { listMessageFiles } from '../../../src/console/page/studio/message-files.ts';
import {
  buildMessageContent,
  checkPickedFile,
  readPickedFile,
} from '../../../src/console/page/studio/chat/picked-files.ts';
import { listRunTurns } from '../../../src/console/page/studio/chat/run-turns.ts';
import { findFirstWith, findForkPoint } from '../../../src/console/page/studio/chat/forks.ts';
import {
  applyRunEvent,
  prepareRun,
  NO_RUN,
  listPastTasks,
  mergeStateMessages,
  mergePastMessages,
  type LiveRun,
} from '../../../src/console/page/studio/chat/live-run.ts';
import {
  runStreamEvents,
  type RunStreamEvent,
} from '../../../src/console/page/studio/run-stream.ts';
import {
  readFormContent,
  readFormFields,
} from '../../../src/console/page/studio/forms/schema-fields.ts';
import { listLineage } from '../../../src/console/page/studio/history/lineage.ts';
import {
  buildDraftedAnswer,
  buildFirstDraft,
} from '../../../src/console/page/studio/questions/drafts.ts';
import {
  readQuestion,
  listThreadQuestions,
  resumeWith,
} from '../../../src/console/page/studio/questions/questions.ts';

const event = (kind: string, data: unknown, within = ''): RunStreamEvent => ({
  kind,
  within,
  text: JSON.stringify(data),
  id: undefined,
});
const piece = (id: string, content: unknown, more = {}) => [
  { type: 'AIMessageChunk', id, content, ...more },
  {},
];
const after = (events: RunStreamEvent[], from: LiveRun = NO_RUN): LiveRun =>
  events.reduce(applyRunEvent, from);

describe('events of a run', () => {
  test('are read from pieces of any length, with the graph that they are of', async () => {
    const sent =
      'id: 1-0\nevent: messages|sub:1\ndata: [1]\n\n: alive\n\nevent: values\ndata: {}\n\n';
    async function* letters(): AsyncGenerator<string> {
      yield* sent;
    }
    expect(await Array.fromAsync(runStreamEvents(letters()))).toEqual([
      { kind: 'messages', within: 'sub:1', text: '[1]', id: '1-0' },
      { kind: 'values', within: '', text: '{}', id: undefined },
    ]);
  });

  test('that are too long are passed over, wherever their pieces are cut', async () => {
    const sent = [
      'event: values\ndata: ',
      'x'.repeat(600_000),
      'x'.repeat(600_000),
      '\n',
      '\nevent: values\r\ndata: {}\r\n',
      '\r\n',
    ];
    async function* pieces(): AsyncGenerator<string> {
      yield* sent;
    }
    expect(await Array.fromAsync(runStreamEvents(pieces()))).toEqual([
      { kind: 'values', within: '', text: '{}', id: undefined },
    ]);
  });

  test('put pieces together, with the calls in them, and the state has the last word', () => {
    const chunk = (args: string, more = {}) => ({
      tool_call_chunks: [{ index: 0, args, ...more }],
    });
    const live = after([
      event('messages', piece('a', 'Hel')),
      event('messages', piece('a', 'lo', chunk('{"x":', { id: 't', name: 'search' }))),
      event('messages', piece('a', '', chunk('1}'))),
    ]);
    expect(live.messages).toMatchObject([
      { content: 'Hello', tool_calls: [{ id: 't', name: 'search', args: { x: 1 } }] },
    ]);
    const whole = { type: 'ai', id: 'a', content: 'Hello!' };
    expect(after([event('values', { messages: [whole] })], live).messages).toEqual([whole]);
    expect(
      after([event('values', { messages: [whole] }), event('messages', piece('a', 'late'))], live)
        .messages,
    ).toEqual([whole]);
  });

  test('of another attempt begin its messages once more', () => {
    const live = after([
      event('messages', piece('a', 'Hel')),
      event('metadata', { run_id: 'r', attempt: 2 }),
      event('messages', piece('a', 'H')),
    ]);
    expect(live).toMatchObject({ runId: 'r', messages: [{ content: 'H' }] });
  });

  test('of a graph within the graph stand at their place, until the thread has their messages', () => {
    const live = after(
      [event('messages', piece('b', 'in'), 'sub:1')],
      mergeStateMessages(NO_RUN, [{ type: 'human', id: 'a', content: 'x' }]),
    );
    expect(live.nested).toMatchObject([
      { within: 'sub:1', behind: 1, messages: [{ content: 'in' }] },
    ]);
    expect(mergeStateMessages(live, [{ type: 'ai', id: 'b', content: 'in' }]).nested).toEqual([]);
    // Those of earlier runs stay when another run begins, unless it takes the place of what they stand behind.
    const next = after([event('metadata', { run_id: 'r2' })], prepareRun(live, live.messages));
    expect(next.nested).toMatchObject([{ within: 'sub:1', messages: [{ content: 'in' }] }]);
    expect(prepareRun(live, []).nested).toEqual([]);
  });

  test('that are over are read from the steps that led to the thread as it is', () => {
    const steps = [
      { id: 'd', parent: 'b', messages: 2, tasks: [] },
      { id: 'c', parent: 'b', messages: 2, tasks: ['left:3'] },
      { id: 'b', parent: 'a', messages: 1, tasks: ['sub:1', 'other:2'] },
      { id: 'a', parent: '', messages: 0, tasks: [] },
    ];
    const tasks = listPastTasks(steps, 'd');
    expect(tasks).toEqual([
      { within: 'sub:1', behind: 1 },
      { within: 'other:2', behind: 1 },
    ]);
    const messages = [{ type: 'ai', id: 'b', content: 'in' }];
    const live = after([event('messages', piece('c', 'now'), 'sub:1')]);
    expect(mergePastMessages(live, [{ within: 'sub:1', behind: 1, messages }]).nested).toEqual(
      live.nested,
    );
    expect(
      mergePastMessages(live, [{ within: 'sub:0', behind: 0, messages }]).nested,
    ).toMatchObject([{ within: 'sub:0' }, { within: 'sub:1' }]);
  });

  test.each([['no JSON'], ['null'], ['[]'], ['[null]'], ['{"messages": 5}']])(
    'of %s change nothing',
    (text) => {
      for (const kind of ['messages', 'values', 'other'])
        expect(applyRunEvent(NO_RUN, { kind, within: '', text, id: undefined })).toEqual(NO_RUN);
    },
  );
});

describe('a question', () => {
  test('in Python and in JavaScript is answered in the same spelling', () => {
    const python = readQuestion({
      action_requests: [{ name: 'a', args: {} }],
      review_configs: [{ action_name: 'a', allowed_decisions: ['edit'] }],
    });
    const javascript = readQuestion({
      actionRequests: [{ name: 'a', args: {} }],
      reviewConfigs: [{ actionName: 'a', allowedDecisions: ['edit'] }],
    });
    expect(buildDraftedAnswer(python, buildFirstDraft(python))).toEqual({
      answer: { decisions: [{ type: 'edit', edited_action: { name: 'a', args: {} } }] },
    });
    expect(buildDraftedAnswer(javascript, buildFirstDraft(javascript))).toEqual({
      answer: { decisions: [{ type: 'edit', editedAction: { name: 'a', args: {} } }] },
    });
  });

  test.each([
    ['yes', 'yes'],
    ['5', '5'],
    ['true', true],
    ['{"a":1}', { a: 1 }],
    ['{broken', '{broken'],
  ])('of no known shape takes %s as %j', (text, answer) => {
    const asked = readQuestion('Go on?');
    expect(buildDraftedAnswer(asked, { ...buildFirstDraft(asked), text })).toEqual({ answer });
  });

  test('whose schema no form can be made of takes JSON', () => {
    const asked = readQuestion({ message: 'm', requestedSchema: { type: 'array' } });
    expect(buildDraftedAnswer(asked, { ...buildFirstDraft(asked), text: '[1]' })).toEqual({
      answer: [1],
    });
    expect(buildDraftedAnswer(asked, { ...buildFirstDraft(asked), text: '[' })).toHaveProperty(
      'faults.text',
    );
  });

  test('is answered by its id; one without an id alone', () => {
    expect(resumeWith([{ id: 'a', answer: 1 }])).toEqual({ a: 1 });
    expect(resumeWith([{ id: '', answer: 1 }])).toBe(1);
    expect(listThreadQuestions([null, { id: 'a', value: 'x' }, 'y'])).toEqual([
      { id: 'a', asked: { kind: 'free', value: 'x' } },
    ]);
  });
});

describe('a form', () => {
  const fields = readFormFields({
    type: 'object',
    required: ['name', 'when'],
    $defs: { Size: { enum: ['small', 'large'] } },
    properties: {
      name: { type: 'string', title: 'Name' },
      seats: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: 2 },
      size: { $ref: '#/$defs/Size' },
      when: { type: 'boolean' },
      more: { type: 'object' },
    },
  })!;

  test('has a field for each property, of its kind', () => {
    expect(
      fields.map(({ name, kind, isRequired, initial }) => [name, kind, isRequired, initial]),
    ).toEqual([
      ['name', 'text', true, ''],
      ['seats', 'integer', false, '2'],
      ['size', 'choice', false, ''],
      ['when', 'truth', true, ''],
      ['more', 'json', false, ''],
    ]);
  });

  test('is read, and says what is wrong', () => {
    expect(readFormContent(fields, { name: 'a', size: '1', more: '{"x":1}' })).toEqual({
      value: { name: 'a', seats: 2, size: 'large', when: false, more: { x: 1 } },
    });
    expect(readFormContent(fields, { seats: '1.5', more: '{' })).toEqual({
      faults: {
        name: 'It is required.',
        seats: 'It is not a whole number.',
        more: expect.stringContaining('It is not JSON') as string,
      },
    });
  });

  test.each([
    [null],
    ['x'],
    [{}],
    [{ properties: [] }],
    [{ $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } }],
  ])('can not be made of %j', (schema) => {
    expect(readFormFields(schema)).toBeUndefined();
  });
});

describe('a message that is written once more', () => {
  const known = [
    { id: 'c4', parent: 'c3', metadata: { source: 'loop' } },
    { id: 'c3', parent: 'c2', metadata: { source: 'loop' } },
    { id: 'c2', parent: 'c1', metadata: { source: 'input' } },
    { id: 'x', parent: 'c1', metadata: { source: 'loop' } },
    { id: 'c1', parent: '', metadata: { source: 'loop' } },
  ];

  test('is first in one checkpoint of the lineage, and begins before its step or its input', async () => {
    const lineage = listLineage(known, 'c4');
    expect(lineage).toEqual(['c4', 'c3', 'c2', 'c1']);
    const first = await findFirstWith(lineage, 'm', (id) =>
      Promise.resolve({ messages: id === 'c4' || id === 'c3' ? [{ id: 'm' }] : [] }),
    );
    expect(first).toBe('c3');
    expect(findForkPoint(known, first, 'before its step')).toBe('c2');
    expect(findForkPoint(known, first, 'before its input')).toBe('c1');
    expect(findForkPoint(known, undefined, 'before its step')).toBeUndefined();
  });

  test('is in no checkpoint where none has it', async () => {
    expect(
      await findFirstWith(['a', 'b'], 'm', () => Promise.resolve({ messages: [] })),
    ).toBeUndefined();
  });
});

test('pictures and files of a message are found in each form that they have, and no link leads to a script', () => {
  const content = [
    { type: 'text', text: 'Look:' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA', metadata: { filename: 'pixel.png' } },
    { type: 'image_url', image_url: { url: 'data:image/gif;base64,BBBB' } },
    { type: 'file', source_type: 'base64', mime_type: 'application/pdf', data: 'CCCC' },
    { type: 'image', url: 'https://example.com/a.png' },
    { type: 'file', url: 'javascript:alert(1)' },
  ];
  expect(listMessageFiles(content)).toEqual([
    { kind: 'picture', name: 'pixel.png', url: 'data:image/png;base64,AAAA' },
    { kind: 'picture', name: 'A picture', url: 'data:image/gif;base64,BBBB' },
    { kind: 'bytes', name: 'A file (application/pdf)', url: 'data:application/pdf;base64,CCCC' },
    { kind: 'link', name: 'https://example.com/a.png', url: 'https://example.com/a.png' },
  ]);
});

describe('a file that goes with a message', () => {
  test('is a picture, a text or bytes, and is shown again as that', async () => {
    const files = await Promise.all([
      readPickedFile(new File([new Uint8Array([1, 2, 255])], 'a.png', { type: 'image/png' })),
      readPickedFile(new File(['a,b\n```\n'], 'a.csv', { type: 'text/csv' })),
      readPickedFile(new File(['%PDF'], 'a.pdf', { type: 'application/pdf' })),
      readPickedFile(new File(['<svg/>'], 'a.svg', { type: 'image/svg+xml' })),
    ]);
    const content = buildMessageContent('See these.', files);
    expect(content).toEqual([
      { type: 'text', text: 'See these.' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AQL/' } },
      { type: 'text', text: 'a.csv:\n````\na,b\n```\n\n````' },
      {
        type: 'file',
        source_type: 'base64',
        mime_type: 'application/pdf',
        data: 'JVBERg==',
        metadata: { filename: 'a.pdf' },
      },
      expect.objectContaining({ type: 'file', mime_type: 'image/svg+xml' }),
    ]);
    expect(listMessageFiles(content).map(({ kind, name }) => [kind, name])).toEqual([
      ['picture', 'A picture'],
      ['bytes', 'a.pdf'],
      ['picture', 'a.svg'],
    ]);
  });

  test('is refused where the message would be too large, and none is no content of its own', async () => {
    const large = new File([new Uint8Array(3_000_000)], 'b.bin');
    const known = await readPickedFile(large);
    expect(checkPickedFile(large, [])).toBeUndefined();
    expect(checkPickedFile(large, [known])).toMatch(
      /^b\.bin makes the files .* 6\.0 MB\. They may/,
    );
    expect(buildMessageContent('hello', [])).toBe('hello');
  });
});

test('runs of a thread have their steps with times, and one that waited for a person does not count that', () => {
  const made = (second: number): string => new Date(second * 1000).toISOString();
  const step = (id: string, parent: string, more: object) => ({
    id,
    parent,
    messages: 0,
    tasks: [],
    madeAt: '',
    run: 'r1',
    source: 'loop',
    next: [],
    ...more,
  });
  const steps = [
    step('f', 'd', { madeAt: made(500), run: 'r2', messages: 4 }),
    step('e', 'c', { madeAt: made(9), run: 'r3' }),
    step('d', 'c', { madeAt: made(5), messages: 2, next: ['tools'] }),
    step('c', 'b', { madeAt: made(2), messages: 1, next: ['answer', 'answer'] }),
    // The input of a run takes the place of a step that was to come.
    step('b', 'a', { madeAt: made(1), source: 'input', next: ['__start__'] }),
    step('a', '', { madeAt: made(1), source: 'update', run: '', next: ['answer'] }),
  ];
  const USAGE = { input: 5, output: 1, unreported: 3, failed: 1, unreported_models: ['m'] };
  const runs = [
    { id: 'r2', status: 'success', begunAt: made(499), usage: USAGE },
    { id: 'r1', status: 'interrupted', begunAt: made(0), usage: null },
  ];
  const calls = [
    { run: 'r2', node: 'tools', model: 'm', input: 5, output: 1, isReported: true, cost: 0.5 },
    { run: 'r4', node: 'tools', model: 'm', input: 1, output: 1, isReported: true, cost: 0.5 },
  ];
  expect(listRunTurns(steps, 'f', { runs, calls })).toEqual([
    {
      run: 'r1',
      behind: 2,
      status: 'interrupted',
      milliseconds: 5000,
      usage: '',
      unreported: '',
      calls: [],
      steps: [{ nodes: ['answer'], milliseconds: 3000, from: 1, to: 2 }],
    },
    {
      run: 'r2',
      behind: 4,
      status: 'success',
      milliseconds: 1000,
      usage: '5 in, 1 out',
      unreported: '2 calls of m reported nothing: set `stream_usage`',
      calls: calls.slice(0, 1),
      steps: [{ nodes: ['tools'], milliseconds: 1000, from: 2, to: 4 }],
    },
  ]);
});
