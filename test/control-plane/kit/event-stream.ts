import { expect } from 'vitest';

/** A message of an event stream; `id` is empty where it has none. */
export type Message = { event: string; id: string; data: Record<string, unknown> };

/** Reads the messages of an event stream, without heartbeats. */
export async function* messagesOf(response: Response): AsyncGenerator<Message> {
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    text += chunk;
    const blocks = text.split('\r\n\r\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, event = '', data = 'null', id = ''] =
        /^event: (.*)\r\ndata: (.*)(?:\r\nid: (.*))?$/.exec(block) ?? [];
      if (event !== '') yield { event, id, data: JSON.parse(data) as Record<string, unknown> };
    }
  }
}
