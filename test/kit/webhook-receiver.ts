import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export type ReceivedWebhook = {
  path: string;
  headers: IncomingHttpHeaders;
  /** As it was signed. */
  text: string;
  body: Record<string, unknown> & { run_id: string; status: string };
};

export type WebhookReceiver = {
  url: string;
  received: ReceivedWebhook[];
  at(path: string): ReceivedWebhook[];
  stop(): Promise<void>;
};

/** Answers a request; `before` is how many came to its path before. */
type Answer = (response: ServerResponse, before: number) => void;

/** Starts a server that webhooks are sent to. It says 200 at paths without an answer of their own. */
export async function startReceiver(
  answers: Record<string, Answer> = {},
): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const at = (path: string): ReceivedWebhook[] => received.filter((one) => one.path === path);
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const hear = async (): Promise<void> => {
      const said = await text(request);
      const before = at(path).length;
      received.push({
        path,
        headers: request.headers,
        text: said,
        body: JSON.parse(said) as ReceivedWebhook['body'],
      });
      const answer = answers[path];
      if (answer === undefined) response.end();
      else answer(response, before);
    };
    void hear();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    at,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
