/** One event as a client received it. */
export type Seen = { event: string; data: unknown; id: string | undefined };

/**
 * Reads server-sent events into `seen` until the stream ends or breaks. `whole` says that it ended by itself. In
 * HTTP/1.1 a server that dies leaves out the last chunk, which is an error. `path` is where to join the stream again.
 */
export async function readStream(
  url: string,
  init: RequestInit,
  seen: Seen[],
): Promise<{ path: string; whole: boolean }> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  const path = response.headers.get('location') ?? new URL(url).pathname;
  let text = '';
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const messages = text.split('\r\n\r\n');
      text = messages.pop() ?? '';
      for (const message of messages) if (!message.startsWith(':')) seen.push(parsed(message));
    }
    return { path, whole: true };
  } catch {
    return { path, whole: false };
  }
}

function parsed(message: string): Seen {
  const fields = new Map(
    message
      .split('\r\n')
      .map(
        (line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const,
      ),
  );
  return {
    event: fields.get('event') ?? '',
    data: JSON.parse(fields.get('data') ?? 'null'),
    id: fields.get('id'),
  };
}
