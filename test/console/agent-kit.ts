import { once } from 'node:events';
import {
  createServer as createHttp,
  type IncomingMessage,
  type RequestListener,
  type Server as HttpServer,
} from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { AgentPass } from '../../src/schema/wire/agent-pass.ts';
import { Browser, openConsole, type RunningConsole } from './kit.ts';

/* A console between doubles of the control plane and of agents. */

export const KEY = 'gx_right';
const WHO = {
  subject: 'k1',
  name: 'me',
  role: 'write',
  tenant_id: 't',
  tenants: ['t'],
  expires_at: null,
  features: {},
};

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** How the double of the control plane answers a request for a pass: with other fields, or with a refusal. */
export type PassAnswer = Partial<AgentPass> & { status?: number; lasts?: number };

export type AgentStage = {
  running: RunningConsole;
  /** Each request that reached the agent, as `METHOD /path`, and its headers. */
  asked: { line: string; headers: IncomingMessage['headers'] }[];
  /** Requests for passes. */
  passes: { path: string; headers: IncomingMessage['headers'] }[];
  /** Says how the next passes are answered. */
  answersPass: (answer: PassAnswer) => void;
  /** Says how the agent answers over HTTP, or what it writes for each request, byte by byte. */
  answers: (listener: RequestListener) => void;
  writes: (bytes: (socket: Socket) => void) => void;
  /** Hosts that the console looked for. */
  hosts: Set<string>;
  stop: () => Promise<void>;
};

const ID = '3f0c4a2e-0000-4000-8000-00000000000a';

/** Returns the path of the console that leads to the agent. */
export const atAgent = (path: string): string => `api/agents/${ID}${path}`;

function planeDouble(stage: Pick<AgentStage, 'passes'>, answer: () => PassAnswer): HttpServer {
  return createHttp((incoming, reply) => {
    const { url = '', headers } = incoming;
    const json = (status: number, body: object): void =>
      void reply
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(body));
    if (url === '/v2/whoami') return json(headers['x-api-key'] === KEY ? 200 : 401, WHO);
    stage.passes.push({ path: `${incoming.method} ${url}`, headers });
    const { status = 200, lasts = 300, ...fields } = answer();
    if (status !== 200) return json(status, { detail: `refused with ${status}` });
    const names = {
      service: 'chat-agent',
      namespace: 'team',
      mount_prefix: '',
      guard: 'key',
      asleep_since: null,
      role: 'write',
    };
    const expires_at = new Date(Date.now() + lasts * 1000).toISOString();
    return json(200, { pass: `gxp_pass-${stage.passes.length}`, expires_at, ...names, ...fields });
  });
}

/** Opens a console whose agents answer as a test says. */
export async function openAgentStage(): Promise<AgentStage> {
  let passAnswer: PassAnswer = {};
  let listener: RequestListener = (_, reply) => void reply.end();
  const parts = {
    asked: [] as AgentStage['asked'],
    passes: [] as AgentStage['passes'],
    hosts: new Set<string>(),
  };
  const plane = planeDouble(parts, () => passAnswer);
  const agent = createHttp((incoming, reply) => {
    parts.asked.push({ line: `${incoming.method} ${incoming.url}`, headers: incoming.headers });
    listener(incoming, reply);
  });
  let write: ((socket: Socket) => void) | undefined;
  // An agent that answers byte by byte is no server of Node's.
  const raw = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => write?.(socket));
  });
  for (const server of [plane, agent, raw]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const reach = (host: string): { host: string; port: number } => {
    parts.hosts.add(host);
    return { host: '127.0.0.1', port: portOf(write === undefined ? agent : raw) };
  };
  const running = await openConsole(`http://127.0.0.1:${portOf(plane)}`, {}, undefined, reach);
  return {
    ...parts,
    running,
    answersPass: (answer) => (passAnswer = answer),
    answers: (next) => {
      write = undefined;
      listener = next;
    },
    writes: (next) => (write = next),
    stop: async () => {
      await running.stop();
      for (const server of [plane, agent]) server.closeAllConnections();
      for (const server of [plane, agent, raw]) server.close();
    },
  };
}

/** Returns a browser that is signed in, with a session of its own. */
export async function signedInAt({ running }: Pick<AgentStage, 'running'>): Promise<Browser> {
  const browser = new Browser(running.url);
  const { status } = await browser.signIn(KEY);
  if (status !== 200) throw new Error(`signing in answered ${status}`);
  return browser;
}
