import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isDockerRunning, canRun } from '../../dev/commands.ts';
import { extendEnvironment } from '../../dev/env.ts';
import { DevError, MissingRequirement } from '../../dev/errors.ts';
import { runMain } from '../../dev/steps.ts';
import { MANIFEST, OPERATOR_IMAGE } from './release.ts';

/* The page on CloudNativePG, typed on kind with the operator from the network. */

async function main(): Promise<void> {
  if (!(await isDockerRunning()))
    throw new MissingRequirement(
      'CloudNativePG is pulled as images, which takes Docker and kind. Docker does not answer here.',
    );
  const found = await fetch(MANIFEST, { signal: AbortSignal.timeout(30_000) }).catch(
    (error: unknown) => error as Error,
  );
  if (found instanceof Error || !found.ok)
    throw new MissingRequirement(
      `The manifest ${MANIFEST} of CloudNativePG can't be fetched from here: ${found instanceof Error ? found.message : found.status}.`,
    );
  if (!(await canRun('docker', ['pull', OPERATOR_IMAGE])))
    throw new MissingRequirement(
      `The image ${OPERATOR_IMAGE} can't be pulled from here, so that nothing was tested.`,
    );
  const env = extendEnvironment({ GX_CLUSTER: 'kind' });
  const child = spawn('vitest', ['run', '--project', 'cnpg'], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new DevError('The page on CloudNativePG does not hold.');
}

await runMain(main);
