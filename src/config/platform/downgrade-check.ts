import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { parseCommandOptions } from '../../commands.ts';
import { toError, StartError } from '../../errors.ts';
import { readOperatorConfig, type OperatorConfig } from './operator.ts';
import type { Env } from '../env.ts';

export const DOWNGRADE_CHECK_HELP = `gx-platform downgrade-check: says which stored fields another version's definitions would drop

Usage: node src/main.ts downgrade-check --crds <file>

  --crds <file>   the custom resource definitions of the other version; - reads them from standard input

Run it in the operator's pod before you go back to a former version (docs/how-to/upgrade.md). It changes nothing. It
ends with 1 when a field would be dropped.
`;

/** The configuration of the operator, and the definitions to hold its objects against, as YAML. */
export type DowngradeCheckConfig = { config: OperatorConfig; definitions: string };

/** Reads the options of `downgrade-check`. Throws if the definitions are not named or can't be read. */
export async function readDowngradeCheckConfig(
  env: Env,
  args: string[],
): Promise<DowngradeCheckConfig> {
  const hint = 'See downgrade-check --help.';
  const { crds: file } = parseCommandOptions(
    args,
    { crds: { type: 'string' } },
    { name: 'downgrade-check', hint },
  );
  if (file === undefined) throw new StartError(`downgrade-check: --crds is missing. ${hint}`);
  const config = readOperatorConfig(env);
  try {
    // By kubectl they come in pieces, for which a read of the whole file does not wait.
    return {
      config,
      definitions: file === '-' ? await text(process.stdin) : await readFile(file, 'utf8'),
    };
  } catch (error) {
    throw new StartError(
      `downgrade-check: --crds ${file} can't be read: ${toError(error).message}`,
      { cause: error },
    );
  }
}
