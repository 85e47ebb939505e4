import { setTimeout as wait } from 'node:timers/promises';
import type { Verdicts } from './report.ts';
import type { WatchedServer } from './watched-server.ts';

const MEGABYTE = 1_000_000;
/** Seconds within which memory is given back, and the share that may stay. */
const WITHIN = 60;
const STAYS = 1.2;

/** Judges that the server is still there, and that its memory is back where it was. */
export async function settled(
  verdicts: Verdicts,
  { name, server, before }: { name: string; server: WatchedServer; before: number },
) {
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1000;
  while (server.memory() > before * STAYS && seconds() < WITHIN) await wait(1000);
  const after = server.memory();
  const figure = `${(before / MEGABYTE).toFixed(0)} MB before, ${(after / MEGABYTE).toFixed(0)} MB after ${seconds().toFixed(0)} s`;
  verdicts.check(`${name}: memory`, figure, after <= before * STAYS);
  verdicts.check(`${name}: restarts`, server.isAlive() ? 'none' : 'it ended', server.isAlive());
}
