import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { Project } from '../../matrix/project.ts';
import { ADAPTERS } from '../../matrix/rows.ts';
import { ALL_CHANNELS, createThread, streamByAgUi, streamByEvents, type Asked } from './api.ts';
import type { Work } from './beside-waits.ts';
import type { Streamed } from './http.ts';
import { median, together } from './load.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

/* A model that speaks so many words, by AG-UI, by event streaming, and by AG-UI's bridge in front of this server. */

const WORDS = 100;
const RUNS = 200;
const CLIENTS = 50;

/** The graph of AG-UI's tests repeats the words one by one, behind the three of its own. */
const ASKED: Asked = {
  assistant: 'chat',
  content: Array.from({ length: WORDS }, () => 'word').join(' '),
};

type Way = { perSecond: number; characters: number };

async function measureWay(runs: number, follow: () => Promise<Streamed>): Promise<Way> {
  const sizes: number[] = [];
  const milliseconds = await together(CLIENTS, runs, async () => {
    sizes.push((await follow()).characters);
  });
  return { perSecond: (runs * WORDS * 1000) / milliseconds, characters: median(sizes) };
}

type Bridged = { characters: number; requests: number };

/** Returns what a page gets of a run by the bridge, and how often the bridge asks before its first event. */
async function measureBridge({ url }: BenchServer): Promise<Bridged> {
  const { packages } = ADAPTERS.find(({ name }) => name === '@ag-ui/langgraph')!;
  await using project = new Project();
  await project.install(packages, 'module');
  project.copy('test/bench/agent/bridge.mjs');
  const { assistant, content } = ASKED;
  return JSON.parse(
    await project.run(process.execPath, ['bridge.mjs', url, assistant, content]),
  ) as Bridged;
}

/** Measures events and bytes of AG-UI beside those of event streaming, and of the bridge if it can be installed. */
export async function measureAgUi({ checkout, databases, scale }: Work): Promise<Line[]> {
  const server = await checkout.start({
    database: await databases.fresh(),
    config: '../../../agent/ag-ui/graphs/gx.json',
  });
  const runs = Math.round(RUNS * scale);
  try {
    const followAgUi = (): Promise<Streamed> => streamByAgUi(server, randomUUID(), ASKED);
    const followEvents = async (): Promise<Streamed> =>
      streamByEvents(server, await createThread(server), ALL_CHANNELS, ASKED);
    await measureWay(CLIENTS, followAgUi);
    await measureWay(CLIENTS, followEvents);
    const byEvents = await measureWay(runs, followEvents);
    const byAgUi = await measureWay(runs, followAgUi);
    const bridged = await measureBridge(server).catch((error: Error) => error);
    const share = byAgUi.perSecond / byEvents.perSecond;
    return [
      {
        what: `words by AG-UI, ${CLIENTS} streams at once`,
        figure: `${byAgUi.perSecond.toFixed(0)} per s`,
        verdict: { goal: '>= 0.92 of the next', met: share >= 0.92 },
      },
      { what: 'by event streaming', figure: `${byEvents.perSecond.toFixed(0)} per s` },
      { what: `bytes of a run of ${WORDS} words by AG-UI`, figure: String(byAgUi.characters) },
      { what: 'by event streaming, all channels', figure: String(byEvents.characters) },
      bridged instanceof Error
        ? { what: 'by the bridge', figure: bridged.message.split('\n')[0]! }
        : {
            what: `by the bridge, which asks ${bridged.requests} times before its first event`,
            figure: String(bridged.characters),
            verdict: { goal: '>= 4x AG-UI', met: bridged.characters >= 4 * byAgUi.characters },
          },
    ];
  } finally {
    await server.stop();
  }
}
