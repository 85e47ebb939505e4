import { isDeepStrictEqual } from 'node:util';
import { randomUUID } from 'node:crypto';
import type { AgentSubscriber, HttpAgent } from '@ag-ui/client';
import { until } from '../../../kit/until.ts';
import { readText } from '../kit.ts';
import { Chance, makeActs, makeWords } from './acts.ts';

/*
 * A conversation whose turns are random: what the agent does, and what the page does meanwhile. After each stream that
 * was read to its end, the page has to show what the thread holds.
 */

type Message = {
  id: string;
  role: string;
  content?: unknown;
  toolCallId?: string;
  subagentRunId?: string;
  toolCalls?: { id: string; function: { name: string; arguments: string } }[];
};

type StateMessage = {
  id: string;
  type: string;
  content: unknown;
  tool_calls?: { id: string; name: string; args: object }[];
  tool_call_id?: string;
};

type Values = { messages: StateMessage[] } & Record<string, unknown>;

const ROLES: Record<string, string> = {
  human: 'user',
  ai: 'assistant',
  tool: 'tool',
  system: 'system',
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Returns what a client shows of a message; the answer to a call is known by its call. */
export const showMessage = ({ id, role, content, toolCalls, toolCallId }: Message): unknown => [
  role === 'tool' ? `tool-${toolCallId}` : id,
  role,
  readText(content ?? ''),
  (toolCalls ?? []).map((call) => [call.id, call.function.name, parse(call.function.arguments)]),
];

export const showStateMessage = (message: StateMessage): unknown => [
  message.type === 'tool' ? `tool-${message.tool_call_id}` : message.id,
  ROLES[message.type],
  readText(message.content),
  (message.tool_calls ?? []).map((call) => [call.id, call.name, call.args]),
];

export type PlayOptions = {
  Client: typeof HttpAgent;
  /** Returns the address of a process that answers. */
  next: () => string;
  /** The most milliseconds between two pieces of a text. */
  pause?: number;
};

type Told = {
  types: string[];
  outcome: string | undefined;
  interrupts: { id: string }[];
  /** Questions as clients get them that do not know of outcomes. */
  older: number;
};

type Outcome = { type: string; interrupts?: { id: string }[] };

const TERMINAL = ['RUN_FINISHED', 'RUN_ERROR'];

export class Conversation {
  readonly #chance: Chance;
  readonly #options: PlayOptions;
  readonly #threadId = randomUUID();
  #client: HttpAgent;
  /** What happened, for the message of a failure. */
  readonly #log: string[] = [];
  /** How often the page was compared with the thread. */
  compared = 0;

  constructor(seed: number, options: PlayOptions) {
    this.#chance = new Chance(seed);
    this.#options = options;
    this.#client = this.#newClient('', [], {});
  }

  /** Plays some turns. Throws for the first difference. */
  async play(): Promise<void> {
    const turns = 1 + this.#chance.below(4);
    try {
      for (let turn = 0; turn < turns; turn += 1) await this.#playTurn(turn);
    } catch (error) {
      throw new Error(`${this.#log.join('\n')}\n${String(error)}`, { cause: error });
    }
  }

  async #playTurn(turn: number): Promise<void> {
    const acts = makeActs(this.#chance, String(turn), this.#options.pause);
    const content = JSON.stringify(acts);
    const spoken = this.#client.messages.filter(({ role }) => role === 'user');
    const chosen = spoken.length > 0 ? this.#chance.oneOf(spoken) : undefined;
    const way = chosen === undefined ? 0 : this.#chance.below(10);
    const at = this.#client.messages.findIndex(({ id }) => id === chosen?.id);
    if (way === 8) this.#client.setMessages(this.#client.messages.slice(0, at + 1));
    else if (way === 9)
      this.#client.setMessages([
        ...this.#client.messages.slice(0, at),
        { id: chosen!.id, role: 'user', content },
      ]);
    else this.#client.addMessage({ id: randomUUID(), role: 'user', content });
    if (this.#chance.isLikely(0.2))
      this.#client.setState({
        ...(this.#client.state as object),
        [this.#chance.oneOf(['board', 'unknown'])]: makeWords(this.#chance),
      });
    this.#log.push(`turn ${turn}, way ${way}: ${way === 8 ? '' : content}`);
    let told = await this.#runSomehow({});
    for (let answers = 0; told !== undefined && answers < 8; answers += 1) {
      const more = this.#answer(told);
      if (more === undefined) return;
      told = await this.#runSomehow(more);
    }
  }

  /** Returns what the next request says that answers the agent; undefined where it asks nothing. */
  #answer({ interrupts, older }: Told): object | undefined {
    if (interrupts.length > 0) {
      this.#log.push('answers the question');
      return {
        resume: interrupts.map(({ id }) =>
          this.#chance.isLikely(0.2)
            ? { interruptId: id, status: 'cancelled' }
            : { interruptId: id, status: 'resolved', payload: makeWords(this.#chance) },
        ),
      };
    }
    if (older > 0) return { forwardedProps: { command: { resume: makeWords(this.#chance) } } };
    const messages = this.#client.messages as Message[];
    const answered = new Set(messages.map(({ toolCallId }) => toolCallId));
    const open = messages
      .filter(({ subagentRunId }) => subagentRunId === undefined)
      .flatMap(({ toolCalls = [] }) => toolCalls)
      .filter((call) => call.function.name === 'paint' && !answered.has(call.id));
    if (open.length === 0 || this.#chance.isLikely(0.1)) return undefined;
    for (const { id } of open)
      this.#client.addMessage({
        id: randomUUID(),
        role: 'tool',
        toolCallId: id,
        content: makeWords(this.#chance).join(''),
        ...(this.#chance.isLikely(0.2) && { error: 'It is dry.' }),
      });
    this.#log.push('answers calls');
    return {};
  }

  /** Runs to the end, or leaves and comes back, or stops. Returns what was told if the stream was read to its end. */
  async #runSomehow(parameters: object): Promise<Told | undefined> {
    const way = this.#chance.below(10);
    const after = 1 + this.#chance.below(12);
    const leaves = way === 6 || way === 7;
    this.#client = this.#newClient(
      leaves ? '?on_disconnect=continue' : '',
      this.#client.messages,
      this.#client.state,
    );
    const client = this.#client;
    let count = 0;
    const told = await this.#follow(client, parameters, () => {
      count += 1;
      if (count !== after) return;
      if (leaves || way === 8) client.abortRun();
      if (way === 9) void this.#stop();
    });
    const hasEnded = told.types.some((type) => TERMINAL.includes(type));
    this.#log.push(`way ${way} after ${after}: ${told.types.length} events, ${hasEnded}`);
    if (hasEnded) {
      await this.#compare(client, told);
      return told;
    }
    if (way === 8) {
      await until('the run was stopped', async () => !(await this.#isBusy()), 40);
      return undefined;
    }
    return this.#connect();
  }

  /** Comes back at some process, as a page that was loaded again or as the one that lost its stream. */
  async #connect(): Promise<Told> {
    for (;;) {
      const isFresh = this.#chance.isLikely(0.5);
      const client = this.#newClient(
        '/connect',
        isFresh ? [] : this.#client.messages,
        isFresh ? {} : this.#client.state,
      );
      const told = await this.#follow(client, {}, () => undefined);
      this.#log.push(`connects: ${told.types.length} events`);
      this.#client = client;
      if (!told.types.some((type) => TERMINAL.includes(type))) continue;
      await this.#compare(client, told);
      return told;
    }
  }

  async #follow(client: HttpAgent, parameters: object, onEvent: () => void): Promise<Told> {
    const told: Told = { types: [], outcome: undefined, interrupts: [], older: 0 };
    const failures: string[] = [];
    const subscriber: AgentSubscriber = {
      onEvent: ({ event: given }) => {
        const event = given as Record<string, unknown> & { type: string };
        // The client says so itself when it is told to leave.
        if (event['code'] === 'abort' && client.abortController.signal.aborted) return;
        told.types.push(event.type);
        if (event.type === 'CUSTOM' && event['name'] === 'on_interrupt') told.older += 1;
        if (event.type === 'RUN_FINISHED') {
          const outcome = event['outcome'] as Outcome | undefined;
          told.outcome = outcome?.type ?? (told.older > 0 ? 'interrupt' : 'success');
          told.interrupts.push(...(outcome?.interrupts ?? []));
        }
        onEvent();
      },
      onRunFailed: ({ error }) => void failures.push(error.message),
    };
    await client.runAgent(parameters, subscriber).catch((error: unknown) => {
      failures.push(String(error));
    });
    const terminal = told.types.filter((type) => TERMINAL.includes(type));
    if (terminal.length > 1 || (terminal.length === 1 && !TERMINAL.includes(told.types.at(-1)!)))
      throw new Error(`the terminal events are ${terminal.join(', ')} in ${told.types.join(', ')}`);
    const isError = terminal[0] === 'RUN_ERROR';
    if (failures.length > 0 && !isError) this.#log.push(`failed: ${failures.join('; ')}`);
    const hasLeft = client.abortController.signal.aborted;
    if (!hasLeft && failures.some((failure) => /HTTP [45]|Cannot send|Zod/.test(failure)))
      throw new Error(failures.join('; '));
    return told;
  }

  async #compare(client: HttpAgent, told: Told): Promise<void> {
    // A run that was stopped or has failed leaves what its last whole step has written.
    const isWhole = told.outcome === 'success' || told.outcome === 'interrupt';
    const { messages, ...state } = await this.#readValues(isWhole ? '/state' : '');
    const shown = (client.messages as Message[])
      .filter(
        ({ role, subagentRunId }) =>
          role !== 'reasoning' && role !== 'activity' && subagentRunId === undefined,
      )
      .map(showMessage);
    const expected = (messages ?? []).map(showStateMessage);
    const events = `${told.outcome} after ${told.types.join(', ')}`;
    if (!isDeepStrictEqual(shown, expected)) {
      const from = shown.findIndex((one, at) => !isDeepStrictEqual(one, expected[at]));
      const show = (all: unknown[]): string =>
        all
          .map((one, at) => `${at}: ${JSON.stringify(one)}`)
          .slice(from === -1 ? shown.length : from)
          .join('\n');
      throw new Error(`the page shows\n${show(shown)}\ninstead of\n${show(expected)}\n${events}`);
    }
    if (!isDeepStrictEqual(client.state, state))
      throw new Error(
        `the state is\n${JSON.stringify(client.state)}\ninstead of\n${JSON.stringify(state)}\n${events}`,
      );
    this.compared += 1;
  }

  #newClient(path: string, messages: HttpAgent['messages'], state: unknown): HttpAgent {
    return new this.#options.Client({
      url: `${this.#options.next()}/ag-ui/plays${path}`,
      threadId: this.#threadId,
      initialMessages: messages,
      initialState: state,
    });
  }

  async #stop(): Promise<void> {
    await fetch(`${this.#options.next()}/ag-ui/plays/stop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ threadId: this.#threadId }),
    });
  }

  async #isBusy(): Promise<boolean> {
    const answer = await fetch(`${this.#options.next()}/threads/${this.#threadId}`);
    return answer.ok && ((await answer.json()) as { status: string }).status === 'busy';
  }

  async #readValues(path: '/state' | ''): Promise<Values> {
    const answer = await fetch(`${this.#options.next()}/threads/${this.#threadId}${path}`);
    if (!answer.ok) return { messages: [] };
    return ((await answer.json()) as { values: Values | null }).values ?? { messages: [] };
  }
}
