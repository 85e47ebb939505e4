import process from 'node:process';
import { DevError } from '../../dev/errors.ts';
import { runMain } from '../../dev/steps.ts';
import { attackAgent } from './agent.ts';
import { attackByCalls } from './demonstrations.ts';
import { attackControlPlane } from './control-plane.ts';
import { attackGateway } from './gateway.ts';
import { Verdicts } from './report.ts';
import { attackByReports } from './reports.ts';

/*
 * Attacks control plane, agent server and gateway as one tenant, while another one asks: the worst bodies of every
 * route, slow and aborted senders, streams, forged keys, floods of reports, and keys of hostile issuers. Measures what
 * each costs, and fails where it is more than is allowed. `calls` shows holes that one call decides. All of it stays
 * on 127.0.0.1, and ends by itself.
 */

const TARGETS: Record<string, (verdicts: Verdicts, seconds?: number) => Promise<void>> = {
  'control-plane': attackControlPlane,
  agent: attackAgent,
  gateway: attackGateway,
  reports: attackByReports,
  calls: attackByCalls,
};

/** Arguments: the names of the targets; `reports=600` sends random reports for ten minutes. The default is all. */
await runMain(async () => {
  const named = process.argv.slice(2);
  const verdicts = new Verdicts();
  for (const name of named.length > 0 ? named : Object.keys(TARGETS)) {
    const [own = '', seconds] = name.split('=');
    const target = TARGETS[own];
    if (target === undefined)
      throw new DevError(`"${name}" is not a target; known: ${Object.keys(TARGETS).join(', ')}.`);
    await target(verdicts, seconds === undefined ? undefined : Number(seconds));
  }
  process.stdout.write(`${verdicts.lines.join('\n')}\n`);
  if (verdicts.missed.length > 0) throw new DevError(`Not held:\n${verdicts.missed.join('\n')}`);
});
