import { randomUUID } from 'node:crypto';
import {
  AIMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
  type BaseMessage,
} from '@langchain/core/messages';
import { Annotation, MessagesAnnotation, REMOVE_ALL_MESSAGES } from '@langchain/langgraph';

export const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  doing: Annotation<string[]>(),
  notes: Annotation<unknown[]>({
    reducer: (notes, more) => [...notes, ...more],
    default: () => [],
  }),
  kept: Annotation<unknown[]>(),
});

class Page {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Change = { messages?: BaseMessage[]; notes?: unknown[]; kept?: unknown[] };
type Doing = (messages: BaseMessage[], number: (below: number) => number) => Change;

export const anAnswer = (): AIMessage =>
  new AIMessage({
    id: randomUUID(),
    content: 'an answer',
    tool_calls: [{ name: 'f', args: { a: 1 }, id: 'c' }],
  });
const one = (messages: BaseMessage[], number: (below: number) => number): BaseMessage | undefined =>
  messages[number(messages.length || 1)];

/** What a node does to the state in a step. */
export const DOINGS: Record<string, Doing> = {
  answer: () => ({ messages: [anAnswer()] }),
  several: (_, number) => ({ messages: Array.from({ length: number(12) }, anAnswer) }),
  nothing: () => ({ messages: [] }),
  remove: (messages, number) => ({
    messages: messages.length > 0 ? [new RemoveMessage({ id: one(messages, number)!.id! })] : [],
  }),
  replace: (messages, number) => ({
    messages:
      messages.length > 0
        ? [new HumanMessage({ id: one(messages, number)!.id!, content: 'changed' })]
        : [],
  }),
  clear: (_, number) =>
    number(4) === 0
      ? { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), anAnswer()] }
      : {},
  'change in place': (messages, number) => {
    const message = one(messages, number);
    if (message === undefined) return {};
    if (number(2) === 0) message.content = `changed in place ${number(100)}`;
    else message.additional_kwargs['deep'] = { number: number(100), list: [undefined, null] };
    return { messages: [anAnswer()] };
  },
  'change deep in place': (messages) => {
    for (const message of messages)
      if (message instanceof AIMessage && message.tool_calls?.[0])
        message.tool_calls[0].args['a'] = 2;
    return {
      messages: [
        new ToolMessage({
          id: randomUUID(),
          content: 'r',
          tool_call_id: 'c',
          artifact: new Map([[1, new Date(0)]]),
        }),
      ],
    };
  },
  notes: (_, number) => ({
    notes: [
      number(5),
      'a note',
      undefined,
      null,
      { deep: { list: [1, { a: undefined }] } },
      [],
      Number.NaN,
    ],
  }),
  exotic: () => ({
    notes: [
      new Map([['a', 1]]),
      new Set([2]),
      new Page('p'),
      new Uint8Array([1, 2]),
      anAnswer(),
      { lc: 7 },
    ],
  }),
  kept: (_, number) => ({
    kept: Array.from({ length: number(9) }, (__, at) =>
      number(3) === 0 ? { at } : `element ${number(4)}`,
    ),
  }),
  shorter: (messages) => ({ kept: messages.slice(-3) }),
  cycle: () => {
    const round: Record<string, unknown> = { name: 'round' };
    round['itself'] = round;
    return { kept: [round, 'end'] };
  },
};
