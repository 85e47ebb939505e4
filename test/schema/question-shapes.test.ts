import { describe, expect, test } from 'vitest';
import {
  buildDecidedAnswer,
  buildTypedAnswer,
  listAskedActions,
  readQuestion,
  type AskedInterrupt,
  type DecisionKind,
} from '../../src/schema/agent/question-shapes.ts';

/* Values as LangChain's middleware, Agent Inbox, MCP forms and graphs of their own write them. */

const APPROVE = { properties: { type: { const: 'approve' } }, required: ['type'], type: 'object' };
const REJECT = {
  properties: { type: { const: 'reject' }, message: { type: 'string' } },
  required: ['type'],
  type: 'object',
};
const approval = (response_schema?: object): AskedInterrupt => ({
  value: {
    type: 'tool_approval',
    tool_call_id: '1',
    name: 'pay',
    args: { euros: 5 },
    description: 'Tool execution requires approval',
  },
  ...(response_schema !== undefined && { response_schema }),
});
const inbox = (config: object): AskedInterrupt => ({
  value: [{ action_request: { action: 'pay', args: { euros: 5 } }, config, description: 'd' }],
});
const batch = (...allowed: string[][]): AskedInterrupt => ({
  value: {
    action_requests: allowed.map((_, index) => ({ name: `tool${index}`, args: {} })),
    review_configs: allowed.map((allowed_decisions, index) => ({
      action_name: `tool${index}`,
      allowed_decisions,
    })),
  },
});
const ALL = ['approve', 'edit', 'reject', 'respond'];

describe('a question about calls', () => {
  test.each<[string, AskedInterrupt, string, string[][]]>([
    ['one call, without a schema', approval(), 'tool_approval', [ALL]],
    [
      'one call, with branches by reference',
      approval({
        $defs: { ApproveDecision: APPROVE, RejectDecision: REJECT },
        discriminator: { propertyName: 'type' },
        oneOf: [{ $ref: '#/$defs/ApproveDecision' }, { $ref: '#/$defs/RejectDecision' }],
      }),
      'tool_approval',
      [['approve', 'reject']],
    ],
    [
      'one call, with branches in place',
      approval({ anyOf: [REJECT] }),
      'tool_approval',
      [['reject']],
    ],
    ['one call, with one decision', approval(APPROVE), 'tool_approval', [['approve']]],
    [
      'one call, with a circle',
      approval({ $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } }),
      'tool_approval',
      [ALL],
    ],
    ['a batch of one', batch(['approve', 'reject']), 'decisions', [['approve', 'reject']]],
    ['a batch of two', batch(['approve'], []), 'decisions', [['approve'], ALL]],
    [
      'Agent Inbox',
      inbox({ allow_accept: true, allow_ignore: true }),
      'inbox',
      [['approve', 'reject']],
    ],
    [
      'Agent Inbox without a list',
      { value: (inbox({ allow_edit: true }).value as unknown[])[0] },
      'inbox',
      [['edit']],
    ],
    [
      'Agent Inbox in JavaScript',
      { value: { actionRequest: { action: 'a', args: {} }, config: { allowRespond: true } } },
      'inbox',
      [['respond']],
    ],
  ])('%s: its kind and its decisions', (_name, interrupt, kind, allowed) => {
    const asked = readQuestion(interrupt);
    expect([asked.kind, listAskedActions(asked).map((one) => one.allowed)]).toEqual([
      kind,
      allowed,
    ]);
  });

  test.each<[DecisionKind, unknown, unknown]>([
    ['approve', { type: 'approve' }, [{ type: 'accept', args: null }]],
    [
      'edit',
      { type: 'edit', edited_action: { name: 'pay', args: { euros: 6 } } },
      [{ type: 'edit', args: { action: 'pay', args: { euros: 6 } } }],
    ],
    ['reject', { type: 'reject', message: 'm' }, [{ type: 'ignore', args: null }]],
    ['respond', { type: 'respond', message: 'm' }, [{ type: 'response', args: 'm' }]],
  ])('the decision %s in each of their words', (kind, ofCall, ofInbox) => {
    const decisions = [{ kind, args: { euros: 6 }, message: 'm' }];
    expect(buildDecidedAnswer(readQuestion(approval()), decisions)).toEqual(ofCall);
    expect(buildDecidedAnswer(readQuestion(inbox({ allow_accept: true })), decisions)).toEqual(
      ofInbox,
    );
  });

  test('an edit in the spelling of the branch that allows it', () => {
    const edit = {
      type: 'object',
      properties: { type: { const: 'edit' }, editedAction: { type: 'object' } },
    };
    const asked = readQuestion(approval({ oneOf: [edit, APPROVE] }));
    expect(buildDecidedAnswer(asked, [{ kind: 'edit', args: {} }])).toEqual({
      type: 'edit',
      editedAction: { name: 'pay', args: {} },
    });
  });

  test('a free question takes none', () => {
    expect(() => buildDecidedAnswer(readQuestion({ value: 'x' }), [])).toThrow(TypeError);
  });
});

describe('a question with a schema', () => {
  test.each<[string, object, object, unknown]>([
    [
      'of an object',
      { type: 'object', properties: { stars: { type: 'integer' } } },
      { stars: 4 },
      { stars: 4 },
    ],
    ['of a truth', { type: 'boolean' }, { answer: true }, true],
    ['of words', { type: 'string', enum: ['a', 'b'] }, { answer: 'b' }, 'b'],
    ['of a list', { type: 'array', items: { type: 'string' } }, { answer: ['x'] }, ['x']],
    [
      'of branches',
      {
        oneOf: [
          { type: 'object', properties: { way: { const: 'post' }, to: { type: 'string' } } },
          { type: 'object', properties: { way: { const: 'phone' }, number: { type: 'string' } } },
        ],
      },
      { way: 'phone', number: '1', to: 'left from before' },
      { way: 'phone', number: '1' },
    ],
  ])('%s', (_name, schema, content, answer) => {
    const asked = readQuestion({ value: 'How?', responseSchema: schema });
    if (asked.kind !== 'typed') throw new Error(asked.kind);
    expect(buildTypedAnswer(asked.form, content as Record<string, unknown>)).toEqual(answer);
  });

  test('of branches has one form with all fields, and a choice among them', () => {
    const asked = readQuestion({
      value: 1,
      response_schema: {
        anyOf: [
          { properties: { k: { enum: ['a'] }, x: { type: 'number' } }, required: ['k', 'x'] },
          { properties: { k: { const: 'b' }, y: { type: 'number' } }, required: ['k'] },
        ],
      },
    });
    expect(asked).toMatchObject({
      form: {
        schema: { properties: { k: { enum: ['a', 'b'] }, x: {}, y: {} }, required: ['k'] },
      },
    });
  });

  test('of branches that nothing tells apart is answered freely', () => {
    const branches = [{ properties: { x: {} } }, { properties: { y: {} } }];
    expect(readQuestion({ value: 1, response_schema: { oneOf: branches } }).kind).toBe('free');
  });

  test('is a form where the value itself brings one', () => {
    const value = { message: 'm', requestedSchema: { type: 'object', properties: {} } };
    expect(readQuestion({ value, response_schema: { type: 'boolean' } }).kind).toBe('form');
  });
});

test.each([
  null,
  undefined,
  5,
  [],
  [1],
  {},
  { type: 'tool_approval', response_schema: 5 },
  '__proto__',
])('a value of nobody’s shape, %j, breaks nothing', (value) => {
  expect(['free', 'tool_approval']).toContain(readQuestion({ value, response_schema: 7 }).kind);
});
