import { setTimeout as wait } from 'node:timers/promises';
import type { Contender } from './contenders.ts';
import type { Databases } from './databases.ts';
import type { Measured } from './report.ts';
import { sizeFor, type Scenario } from './scenarios/scenario.ts';
import type { BenchServer } from './servers.ts';

/** The servers that are up. Each is started when it is first needed. */
class Running {
  readonly #databases: Databases;
  readonly #settle: number;
  readonly #servers = new Map<Contender, BenchServer>();

  constructor(databases: Databases, settle: number) {
    this.#databases = databases;
    this.#settle = settle;
  }

  /** Returns the server whose turn it is. It has the machine to itself, because peers poll while they wait. */
  async turnOf(contender: Contender): Promise<BenchServer> {
    for (const [other, server] of this.#servers) if (other !== contender) server.pause();
    const known = this.#servers.get(contender);
    known?.resume();
    const server = known ?? (await contender.start(this.#databases));
    this.#servers.set(contender, server);
    await wait(this.#settle);
    return server;
  }

  async drop(contender: Contender): Promise<void> {
    const server = this.#servers.get(contender);
    this.#servers.delete(contender);
    await server?.stop();
  }

  async dropForgetful(): Promise<void> {
    for (const contender of this.#servers.keys())
      if (contender.forgetful) await this.drop(contender);
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.values()) await server.stop();
  }
}

/** Rounds of a row that names no number. */
const ROUNDS = 3;

/** `settle` is the number of milliseconds in which a paused server catches up with its timers. */
type Work = {
  rounds: number | undefined;
  scale: number;
  settle: number;
  tell: (line: string) => void;
};

/**
 * Runs all rounds of all scenarios. In each round the servers take turns, in every other round from the last to the
 * first. A contender that fails is out of the scenario, and the table names the reason. It starts anew for the next
 * scenario.
 */
export async function measureInTurns(
  scenarios: Scenario[],
  contenders: Contender[],
  databases: Databases,
  work: Work,
): Promise<Measured[]> {
  const running = new Running(databases, work.settle);
  const rows: Measured[] = [];
  try {
    for (const scenario of scenarios) rows.push(await measure(scenario, contenders, running, work));
  } finally {
    await running.stop();
  }
  return rows;
}

async function measure(
  scenario: Scenario,
  contenders: Contender[],
  running: Running,
  { scale, tell, ...work }: Work,
): Promise<Measured> {
  const rounds = work.rounds ?? scenario.rounds ?? ROUNDS;
  const measured: Measured = { scenario, figures: {}, brokeOff: {} };
  for (let round = 1; round <= rounds; round += 1)
    for (const contender of round % 2 === 1 ? contenders : contenders.toReversed()) {
      const { who, name } = contender;
      const size = sizeFor(scenario, who);
      if (size === undefined || measured.brokeOff[who] !== undefined) continue;
      try {
        const figure = await scenario.measure(
          await running.turnOf(contender),
          Math.max(5, Math.round(size * scale)),
        );
        (measured.figures[who] ??= []).push(figure);
        tell(`${scenario.id}, round ${round}: ${name} ${figure.toFixed(2)} ${scenario.unit}`);
      } catch (error) {
        measured.brokeOff[who] = (error as Error).message;
        tell(`${scenario.id}, round ${round}: ${name} broke off: ${(error as Error).message}`);
        await running.drop(contender);
      }
    }
  await running.dropForgetful();
  return measured;
}
