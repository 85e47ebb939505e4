import { isObject, type Json } from '../../schema/json.ts';
import type { ClientList } from './client-list.ts';
import { readMessageShow, type MessageShow } from './message-show.ts';
import { buildReasoningId, readString } from './messages.ts';
import { addEventOwner, type AgUiEvent } from './events.ts';

/* The messages that models stream, block by block, as events of AG-UI. */

/** `owner`: the agent within the agent whose model it is. `reasonings`: how many blocks of reasoning it has so far. */
type OpenMessage = {
  id: string;
  owner: string | undefined;
  blocks: Map<number, OpenBlock>;
  reasonings: number;
  isTextOpen: boolean;
  show: MessageShow;
};

type TextBlock = { kind: 'text'; sent: string };
type ReasoningBlock = { kind: 'reasoning'; id: string; sent: string; isOpen: boolean };
type CallBlock = { kind: 'call'; id?: string; name?: string; sent: string; isOpen: boolean };
type OpenBlock = TextBlock | ReasoningBlock | CallBlock | { kind: 'other' };

/** Returns the part of a field that was not sent yet. Models repeat a block's fields as they are by then. */
const stripSent = (value: unknown, sent: string): string =>
  typeof value === 'string' && value.startsWith(sent) ? value.slice(sent.length) : '';

export class StreamedMessages {
  readonly #list: ClientList;
  /** By their graph and the model's run. */
  readonly #open = new Map<string, OpenMessage>();

  constructor(list: ClientList) {
    this.#list = list;
  }

  isOpen(id: string): boolean {
    return [...this.#open.values()].some((message) => message.id === id);
  }

  /** Folds an event of a message. `owner`: the agent within the agent that it belongs to. */
  take(namespace: string[], data: Json, owner: string | undefined): AgUiEvent[] {
    const key = [...namespace, readString(data['run_id'] ?? data['id'])].join('|');
    if (data['event'] === 'message-start') {
      if (data['role'] !== 'ai') return [];
      const id =
        typeof data['id'] === 'string' && data['id'] !== ''
          ? data['id']
          : `run-${readString(data['run_id'])}`;
      const closed = this.#closeUnfinished(id);
      this.#open.set(key, {
        id,
        owner,
        blocks: new Map<number, OpenBlock>(),
        reasonings: 0,
        isTextOpen: false,
        show: readMessageShow(data['metadata']),
      });
      return closed;
    }
    const message = this.#open.get(key);
    if (message === undefined) return [];
    const index = Number(data['index']);
    switch (data['event']) {
      case 'content-block-start':
        return this.#startBlock(message, index, data['content']);
      case 'content-block-delta':
        return this.#extendBlock(message, index, data['delta'] ?? data['content']);
      case 'content-block-finish':
        return this.#finishBlock(message, index, data['content']);
      case 'message-finish':
      case 'error':
        this.#open.delete(key);
        return this.#close(message);
      default:
        return [];
    }
  }

  /** Closes a message whose worker died in the middle of it, where the next one streams it once more. */
  #closeUnfinished(id: string): AgUiEvent[] {
    return this.#closeThose((message) => message.id === id);
  }

  closeAll(owner?: string): AgUiEvent[] {
    return this.#closeThose((message) => owner === undefined || message.owner === owner);
  }

  #closeThose(isMeant: (message: OpenMessage) => boolean): AgUiEvent[] {
    const some = [...this.#open].filter(([, message]) => isMeant(message));
    for (const [key] of some) this.#open.delete(key);
    return some.flatMap(([, message]) => this.#close(message));
  }

  /** Opens the open messages once more, for a client that has their beginnings by a snapshot. */
  openAgain(): AgUiEvent[] {
    return [...this.#open.values()].flatMap((message) => {
      const text = message.isTextOpen ? [startText(message)] : [];
      const blocks = [...message.blocks.values()].flatMap((block): AgUiEvent[] => {
        if (block.kind === 'reasoning' && block.isOpen) return startReasoning(message, block);
        return block.kind === 'call' && block.isOpen ? [startCall(message, block)] : [];
      });
      return [...text, ...blocks];
    });
  }

  #startBlock(message: OpenMessage, index: number, content: unknown): AgUiEvent[] {
    if (!isObject(content)) return [];
    switch (content['type']) {
      case 'text':
        message.blocks.set(index, { kind: 'text', sent: '' });
        break;
      case 'reasoning':
        message.blocks.set(index, {
          kind: 'reasoning',
          id: buildReasoningId(message.id, message.reasonings),
          sent: '',
          isOpen: false,
        });
        message.reasonings += 1;
        break;
      case 'tool_call':
      case 'tool_call_chunk':
        message.blocks.set(index, { kind: 'call', sent: '', isOpen: false });
        break;
      default:
        message.blocks.set(index, { kind: 'other' });
    }
    return this.#mergeBlock(message, index, content);
  }

  #extendBlock(message: OpenMessage, index: number, delta: unknown): AgUiEvent[] {
    const block = message.blocks.get(index);
    if (block === undefined || !isObject(delta)) return [];
    switch (delta['type']) {
      case 'text-delta':
        return block.kind === 'text'
          ? this.#appendText(message, block, readString(delta['text']))
          : [];
      case 'reasoning-delta':
        return block.kind === 'reasoning'
          ? this.#appendReasoning(message, block, readString(delta['reasoning']))
          : [];
      case 'tool-call-delta':
        return block.kind === 'call'
          ? this.#appendArguments(message, block, readString(delta['args']))
          : [];
      case 'block-delta':
        return this.#mergeBlock(message, index, delta['fields']);
      default:
        return this.#mergeBlock(message, index, delta);
    }
  }

  /** Takes the fields of a block as they are by now, and sends their new parts. */
  #mergeBlock(message: OpenMessage, index: number, fields: unknown): AgUiEvent[] {
    const block = message.blocks.get(index);
    if (block === undefined || !isObject(fields)) return [];
    switch (block.kind) {
      case 'text':
        return this.#appendText(message, block, stripSent(fields['text'], block.sent));
      case 'reasoning':
        return this.#appendReasoning(message, block, stripSent(fields['reasoning'], block.sent));
      case 'call':
        if (typeof fields['id'] === 'string' && fields['id'] !== '') block.id = fields['id'];
        if (typeof fields['name'] === 'string' && fields['name'] !== '')
          block.name = fields['name'];
        return this.#appendArguments(message, block, stripSent(fields['args'], block.sent));
      default:
        return [];
    }
  }

  #finishBlock(message: OpenMessage, index: number, content: unknown): AgUiEvent[] {
    const events = this.#mergeBlock(message, index, content);
    const block = message.blocks.get(index);
    if (block?.kind === 'reasoning') return [...events, ...closeReasoning(message, block, content)];
    if (block?.kind !== 'call') return events;
    // Some models give the arguments of a call in one piece, at its end.
    const isUnsent = block.sent === '' && isObject(content) && isObject(content['args']);
    const whole = isUnsent
      ? this.#appendArguments(message, block, JSON.stringify(content['args']))
      : [];
    return [...events, ...whole, ...this.#closeCall(message, block)];
  }

  #appendText(message: OpenMessage, block: TextBlock, delta: string): AgUiEvent[] {
    if (delta === '' || message.show.hidesText) return [];
    block.sent += delta;
    const start = message.isTextOpen ? [] : [startText(message)];
    message.isTextOpen = true;
    this.#list.append(message, 'assistant', delta);
    return [
      ...start,
      addEventOwner({ type: 'TEXT_MESSAGE_CONTENT', messageId: message.id, delta }, message.owner),
    ];
  }

  #appendReasoning(message: OpenMessage, block: ReasoningBlock, delta: string): AgUiEvent[] {
    if (delta === '') return [];
    block.sent += delta;
    const start = block.isOpen ? [] : startReasoning(message, block);
    block.isOpen = true;
    this.#list.append({ id: block.id, owner: message.owner }, 'reasoning', delta);
    return [
      ...start,
      addEventOwner(
        { type: 'REASONING_MESSAGE_CONTENT', messageId: block.id, delta },
        message.owner,
      ),
    ];
  }

  #appendArguments(message: OpenMessage, block: CallBlock, delta: string): AgUiEvent[] {
    const { id, name } = block;
    if (id === undefined || name === undefined || message.show.hidesCall(name)) return [];
    const events: AgUiEvent[] = [];
    if (!block.isOpen && !this.#list.hasCall(id)) {
      block.isOpen = true;
      this.#list.startCall(message, { id, name });
      events.push(...buildPrediction(message, name), startCall(message, block));
    }
    if (delta === '' || !block.isOpen) return events;
    block.sent += delta;
    this.#list.appendArguments(message.id, id, delta);
    return [
      ...events,
      addEventOwner({ type: 'TOOL_CALL_ARGS', toolCallId: id, delta }, message.owner),
    ];
  }

  #closeCall(message: OpenMessage, block: CallBlock): AgUiEvent[] {
    if (!block.isOpen || block.id === undefined) return [];
    block.isOpen = false;
    this.#list.closeCall(block.id);
    return [addEventOwner({ type: 'TOOL_CALL_END', toolCallId: block.id }, message.owner)];
  }

  #close(message: OpenMessage): AgUiEvent[] {
    const inner = [...message.blocks.values()].flatMap((block) => {
      if (block.kind === 'call') return this.#closeCall(message, block);
      return block.kind === 'reasoning' && block.isOpen
        ? closeReasoning(message, block, undefined)
        : [];
    });
    if (!message.isTextOpen) return inner;
    message.isTextOpen = false;
    return [
      ...inner,
      addEventOwner({ type: 'TEXT_MESSAGE_END', messageId: message.id }, message.owner),
    ];
  }
}

/** Tells the page, before a call begins, which part of its state the arguments will be. */
const buildPrediction = ({ show, owner }: OpenMessage, name: string): AgUiEvent[] =>
  show.predictions.some(({ tool }) => tool === name)
    ? [addEventOwner({ type: 'CUSTOM', name: 'PredictState', value: show.predictions }, owner)]
    : [];

const startText = ({ id, owner }: OpenMessage): AgUiEvent =>
  addEventOwner({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }, owner);

const startReasoning = ({ owner }: OpenMessage, { id }: ReasoningBlock): AgUiEvent[] => [
  addEventOwner({ type: 'REASONING_START', messageId: id }, owner),
  addEventOwner({ type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' }, owner),
];

const startCall = (message: OpenMessage, { id, name }: CallBlock): AgUiEvent =>
  addEventOwner(
    { type: 'TOOL_CALL_START', toolCallId: id, toolCallName: name, parentMessageId: message.id },
    message.owner,
  );

/** Ends a block of reasoning, with the text that its provider has sealed, which it wants back as it is. */
function closeReasoning(
  { owner }: OpenMessage,
  block: ReasoningBlock,
  content: unknown,
): AgUiEvent[] {
  const { signature, encrypted_content, data, extras } = Object(content) as Json;
  const sealed = [
    signature,
    encrypted_content,
    isObject(extras) ? extras['signature'] : undefined,
    data,
  ].find((value): value is string => typeof value === 'string' && value !== '');
  if (!block.isOpen && sealed === undefined) return [];
  const first: AgUiEvent = block.isOpen
    ? { type: 'REASONING_MESSAGE_END', messageId: block.id }
    : { type: 'REASONING_START', messageId: block.id };
  block.isOpen = false;
  const value: AgUiEvent = {
    type: 'REASONING_ENCRYPTED_VALUE',
    subtype: 'message',
    entityId: block.id,
    encryptedValue: sealed,
  };
  const events = [
    first,
    ...(sealed === undefined ? [] : [value]),
    { type: 'REASONING_END', messageId: block.id },
  ];
  return events.map((event) => addEventOwner(event, owner));
}
