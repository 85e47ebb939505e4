/* A client of event streaming without the SDK. It shows what goes over the wire and nothing else. */

export type ReadEvent = {
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; data: Record<string, unknown> };
};

/** One thread of a server, by its address. */
export class WireThread {
  readonly #url: string;

  constructor(server: string, threadId: string) {
    this.#url = `${server}/threads/${threadId}`;
  }

  async command(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const answer = await this.post('/commands', { id: 1, method, params });
    if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  }

  /** Reads until the last event that is wanted. */
  async read(
    body: object,
    isLast: (event: ReadEvent) => boolean,
    headers: Record<string, string> = {},
  ): Promise<ReadEvent[]> {
    const answer = await this.post('/stream/events', body, headers);
    if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
    const events: ReadEvent[] = [];
    let text = '';
    const decoder = new TextDecoder();
    for await (const bytes of answer.body!) {
      text += decoder.decode(bytes as Uint8Array, { stream: true });
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        text = text.slice(end + 4);
        if (data === undefined) continue;
        events.push(JSON.parse(data) as ReadEvent);
        // Leaving the loop closes the stream.
        if (isLast(events.at(-1)!)) return events;
      }
    }
    throw new Error(`the stream ended: ${JSON.stringify(events.at(-1))}`);
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(this.#url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    });
  }
}

export const ALL = [
  'values',
  'lifecycle',
  'input',
  'messages',
  'tools',
  'custom',
  'updates',
  'tasks',
  'checkpoints',
];

/** The last event of a run. */
export const isRunEnd = ({ method, params }: ReadEvent): boolean =>
  method === 'lifecycle' &&
  params.namespace.length === 0 &&
  ['completed', 'failed', 'interrupted'].includes(params.data['event'] as string);
