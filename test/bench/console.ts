import { parseArgs } from 'node:util';
import { runMain, printLine, step } from '../../dev/steps.ts';
import { atAgent } from '../console/agent-kit.ts';
import { Browser } from '../console/kit.ts';
import {
  bundled,
  now,
  serveChats,
  serveConsoleFor,
  startMeasured,
  startPlaneDouble,
  type Usage,
} from './console/processes.ts';
import { readChat, type ReadToken } from './console/reader.ts';
import { megabytes, quantile, Table } from './operator/table.ts';

const HELP = `What chats cost on their way through a process of the console. Each chat is read twice at the same time: at the
agent itself, and through the console.

Usage: node test/bench/console.ts [options]

  --chats <number>    chats at the same time (default 500)
  --seconds <number>  how long each is written (default 20)
  --pause <number>    milliseconds between two tokens of a chat (default 200)
  --rounds <number>   rounds, of which the table shows the median and the worst (default 3)
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    chats: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '20' },
    pause: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    // Set in the processes that this program starts: the ports that the console serves, and the work of the agent.
    plane: { type: 'string' },
    agent: { type: 'string' },
    writes: { type: 'boolean', default: false },
  },
});

/** The goals: bytes of the process, and milliseconds that a token takes longer. */
const GOALS = { bytes: 200 * 2 ** 20, p99: 5 };
/** Milliseconds at the beginning of a round that do not count, in which connections open. */
const WARM = 3000;
/** Chats of one user, who may not have more than 100 answers open. */
const OF_USER = 10;

/** A round: the milliseconds of each token at the agent, those through the console, and those that it added. */
type Round = { direct: number[]; through: number[]; added: number[]; used: Usage; took: number };

type Stage = { console: string; agent: string; cookies: string[]; used: () => Usage };

async function cookiesOf(url: string): Promise<string[]> {
  const cookies: string[] = [];
  for (let user = 0; user < Math.ceil(Number(values.chats) / OF_USER); user += 1) {
    const browser = new Browser(url);
    const { status } = await browser.signIn(`gx_user-${user}`);
    if (status !== 200) throw new Error(`Signing in was answered with ${status}.`);
    cookies.push([...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
  }
  return cookies;
}

async function roundOf({ console: url, agent, cookies, used }: Stage): Promise<Round> {
  used();
  const began = now();
  const chats = Array.from({ length: Number(values.chats) }, async (_, chat) => {
    const path = `/threads/${chat}/runs/stream`;
    const cookie = cookies[Math.floor(chat / OF_USER)] ?? '';
    const headers = { cookie, origin: url, 'sec-fetch-site': 'same-origin', 'x-gx-console': '1' };
    return Promise.all([
      readChat({ url: `${agent}${path}` }),
      readChat({ url: `${url}/console/${atAgent(path)}`, headers }),
    ]);
  });
  const read = await Promise.all(chats);
  const round: Round = { direct: [], through: [], added: [], used: used(), took: now() - began };
  for (const [direct, through] of read) addChat(round, { direct, through, from: began + WARM });
  return round;
}

type ReadChat = { direct: readonly ReadToken[]; through: readonly ReadToken[]; from: number };

function addChat(
  { direct: all, through: passed, added }: Round,
  { direct, through, from }: ReadChat,
): void {
  if (direct.length !== through.length)
    throw new Error(`Of ${direct.length} tokens, ${through.length} came through the console.`);
  const times = new Map(direct.map(({ number, came }) => [number, came]));
  for (const { number, at, came } of through.filter((one) => one.at >= from)) {
    const first = times.get(number);
    if (first === undefined)
      throw new Error(`Token ${number} of a chat came through the console alone.`);
    all.push(first - at);
    passed.push(came - at);
    added.push(came - first);
  }
}

const percent = (part: number): string => `${Math.round(part * 100)} %`;
const shown = (milliseconds: number): string => `${milliseconds.toFixed(1)} ms`;

function tableOf(rounds: readonly Round[]): Table {
  const table = new Table();
  table.title(
    `${values.chats} chats, a token every ${values.pause} ms, ${values.seconds} s, ${rounds.length} rounds: the median, the worst`,
  );
  const row = (
    what: string,
    of: (round: Round) => number,
    text: (value: number) => string,
    goal?: { says: string; most: number },
  ): void => {
    const found = rounds.map(of);
    const [median, worst] = [quantile(found, 0.5), Math.max(...found)];
    const verdict = goal && { says: goal.says, met: median <= goal.most };
    table.row(what, `${text(median)}, ${text(worst)}`, verdict);
  };
  row('tokens that were read each way', ({ added }) => added.length, String);
  row('a token read at the agent: p50', ({ direct }) => quantile(direct, 0.5), shown);
  row('a token read at the agent: p99', ({ direct }) => quantile(direct, 0.99), shown);
  row('through the console: p50', ({ through }) => quantile(through, 0.5), shown);
  row('through the console: p99', ({ through }) => quantile(through, 0.99), shown);
  row('added to a token: p50', ({ added }) => quantile(added, 0.5), shown);
  row('added to a token: p99', ({ added }) => quantile(added, 0.99), shown, {
    says: `at most ${GOALS.p99} ms`,
    most: GOALS.p99,
  });
  row('added to a token: the most', ({ added }) => quantile(added, 1), shown);
  row('memory of the console, the most', ({ used }) => used.bytes, megabytes, {
    says: `at most ${megabytes(GOALS.bytes)}`,
    most: GOALS.bytes,
  });
  row('processor of the console, of one', ({ used, took }) => used.worked / took, percent);
  return table;
}

async function measure(): Promise<void> {
  const plane = await startPlaneDouble();
  const bundle = await bundled();
  const agent = await startMeasured(bundle, [
    '--writes',
    '--seconds',
    values.seconds,
    '--pause',
    values.pause,
  ]);
  const ports = ['--plane', String(plane.port), '--agent', new URL(agent.url).port];
  const running = await startMeasured(bundle, ports);
  try {
    const cookies = await cookiesOf(running.url);
    const atRest = running.used().bytes;
    const stage = { console: running.url, agent: agent.url, cookies, used: running.used };
    const rounds: Round[] = [];
    for (let round = 1; round <= Number(values.rounds); round += 1)
      rounds.push(await step(`round ${round}`, () => roundOf(stage)));
    const table = tableOf(rounds);
    table.row('memory of the console before the first chat', megabytes(atRest));
    printLine(table.toString());
  } finally {
    for (const { child } of [running, agent]) if (child.connected) child.disconnect();
    plane.stop();
  }
}

async function main(): Promise<void> {
  if (values.help) return printLine(HELP);
  if (values.writes)
    return serveChats({ readers: 2, seconds: Number(values.seconds), pause: Number(values.pause) });
  if (values.plane !== undefined && values.agent !== undefined)
    return serveConsoleFor({ plane: values.plane, agent: values.agent });
  return measure();
}

await runMain(main);
