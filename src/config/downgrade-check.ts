import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { commandOptions } from '../commands.ts';
import { asError, StartError } from '../errors.ts';
import { operatorConfig, type OperatorConfig } from './operator.ts';
import type { Env } from './env.ts';

export const DOWNGRADE_CHECK_HELP = `gx-platform downgrade-check: says which stored fields another version's definitions would drop

Usage: node src/main.ts downgrade-check --crds <file>

  --crds <file>   the custom resource definitions of the other version; - reads them from standard input

Run it in the operator's pod before you go back to a former version (docs/how-to/upgrade.md). It changes nothing. It
ends with 1 when a field would be dropped.
`;

/** The configuration of the operator, and the definitions to hold its objects against, as YAML. */
export type DowngradeCheckConfig = { config: OperatorConfig; definitions: string };

/** Reads the options of `downgrade-check`. Throws if the definitions are not named or can't be read. */
export async function downgradeCheckConfig(env: Env, args: string[]): Promise<DowngradeCheckConfig> {
  const hint = 'See downgrade-check --help.';
  const { crds: file } = commandOptions(args, { crds: { type: 'string' } }, { name: 'downgrade-check', hint });
  if (file === undefined) throw new StartError(`downgrade-check: --crds is missing. ${hint}`);
  const config = operatorConfig(env);
  try {
    // By kubectl they come in pieces, for which a read of the whole file does not wait.
    return { config, definitions: file === '-' ? await text(process.stdin) : await readFile(file, 'utf8') };
  } catch (error) {
    throw new StartError(`downgrade-check: --crds ${file} can't be read: ${asError(error).message}`, { cause: error });
  }
}
