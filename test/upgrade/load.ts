import { Client } from '@langchain/langgraph-sdk';
import { executions, type CountingAgent } from '../kit/counting-agent.ts';
import { prober } from '../kit/prober.ts';

type State = { round?: string };
type Stopped = Awaited<ReturnType<ReturnType<typeof prober>['stop']>>;

/** Requests, runs and streams of one agent, which must all go well. */
export type Load = { agent: CountingAgent; stop(): Promise<LoadEnded> };
export type LoadEnded = {
  failures: string[];
  /** How often each kind was asked. */
  counts: Record<string, number>;
  /** The rounds of runs that were executed other than once. */
  notOnce: [string, string[]][];
};

/** Milliseconds that each of a run's two steps takes, by the kind of load. */
const STEPS: Readonly<Record<string, number>> = { quick: 10, slow: 3000, streamed: 1000 };

async function answered(client: Client, round: string, milliseconds: number): Promise<void> {
  const state = (await client.runs.wait(null, 'counting', {
    input: { round, milliseconds },
  })) as State;
  if (state.round !== round) throw new Error(`${round} answered ${JSON.stringify(state)}`);
}

/** Reads the whole stream of a run. It must have the state after both of its steps. */
export async function streamed(client: Client, round: string, milliseconds: number): Promise<void> {
  const seen: number[] = [];
  for await (const { event, data } of client.runs.stream(null, 'counting', {
    input: { round, milliseconds },
    streamMode: 'values',
  })) {
    if (event === 'error') throw new Error(`${round} streamed ${JSON.stringify(data)}`);
    if (event === 'values') seen.push(((data as { by?: string[] }).by ?? []).length);
  }
  if (seen.at(-1) !== 2) throw new Error(`${round} streamed states with ${seen.join(', ')} steps`);
}

/** Asks an agent without a break until it is stopped. Each request that fails counts, because nothing asks again. */
export function load(agent: CountingAgent): Load {
  const { client, url } = agent;
  const probers = {
    asked: prober(async () => {
      const response = await fetch(`${url}/ok?check_db=0`, { headers: { connection: 'close' } });
      if (!response.ok) throw new Error(`/ok answered ${response.status}`);
    }, 100),
    quick: prober((number) => answered(client, `quick-${number}`, STEPS['quick']!), 50),
    slow: prober((number) => answered(client, `slow-${number}`, STEPS['slow']!), 50),
    streamed: prober((number) => streamed(client, `streamed-${number}`, STEPS['streamed']!), 50),
  };
  const stop = async (): Promise<LoadEnded> => {
    const ended = await Promise.all(
      Object.entries(probers).map(async ([kind, one]) => [kind, await one.stop()] as const),
    );
    return {
      failures: ended.flatMap(([kind, { failures }]) =>
        failures.map((failure) => `${agent.url} ${kind}: ${failure}`),
      ),
      counts: Object.fromEntries(ended.map(([kind, { rounds }]) => [kind, rounds])),
      notOnce: notOnce(await executions(client), Object.fromEntries(ended)),
    };
  };
  return { agent, stop };
}

/** Returns the rounds whose steps were not executed once each. */
function notOnce(
  executed: Record<string, string[]>,
  ended: Record<string, Stopped>,
): [string, string[]][] {
  const rounds = Object.keys(STEPS).flatMap((kind) =>
    Array.from({ length: ended[kind]?.rounds ?? 0 }, (_, index): [string, string[]] => {
      const round = `${kind}-${index + 1}`;
      return [round, executed[round] ?? []];
    }),
  );
  return rounds.filter(([, nodes]) => nodes.join() !== 'first,second');
}
