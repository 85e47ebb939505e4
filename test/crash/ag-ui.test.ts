import { HttpAgent } from '@ag-ui/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Conversation } from '../agent/ag-ui/plays/play.ts';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { api, Fleet, say } from './fleet.ts';

/*
 * Random conversations over AG-UI while workers die with SIGKILL: each stream has one end, and then the page shows what
 * the thread holds. GX_SEEDS sets how many conversations there are.
 */

const SEEDS = Number(process.env['GX_SEEDS'] ?? 60);
/** Conversations that are held at the same time. */
const TOGETHER = 6;
/** Milliseconds from one kill to the next. */
const LIFE_MS = 4000;

let database: TestDatabase;
let answering: AgentProcess[];
let fleet: Fleet;

beforeAll(async () => {
  database = await freshDatabase();
  const options = {
    database: database.uri,
    config: 'test/agent/ag-ui/plays/gx.json',
    env: { GX_JOB_LEASE_SECS: '3' },
  };
  answering = [await api(options), await api(options)];
  fleet = new Fleet(options);
  await fleet.start(3);
  await fleet.complete(0);
});

afterAll(async () => {
  await fleet.stop();
  await Promise.all(answering.map((one) => one.kill()));
  await database.drop();
});

test(
  'pages show what their threads hold, although workers die while agents speak',
  async () => {
    const failed: string[] = [];
    const seeds = Array.from({ length: SEEDS }, (_, at) => at + 1);
    let [compared, connections] = [0, 0];
    const next = (): string => answering[(connections += 1) % answering.length]!.url;
    const playOn = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const conversation = new Conversation(seed, { Client: HttpAgent, next, pause: 60 });
        await conversation
          .play()
          .catch((error: unknown) => failed.push(`seed ${seed}: ${String(error)}`));
        compared += conversation.compared;
      }
    };
    const state = { isOver: false };
    const playing = Promise.all(Array.from({ length: TOGETHER }, playOn)).finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) {
      await Promise.race([playing, new Promise((resolve) => setTimeout(resolve, LIFE_MS))]);
      await fleet.complete();
      if (!state.isOver) await fleet.kill(fleet.pids[0]!);
    }
    await playing;
    say(`${SEEDS} conversations, ${compared} comparisons, ${fleet.killed.size} workers killed`);
    expect(failed).toEqual([]);
    expect(fleet.killed.size).toBeGreaterThan(0);
  },
  60_000 + SEEDS * 15_000,
);
