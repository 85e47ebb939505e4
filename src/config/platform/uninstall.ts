import { parseCommandOptions } from '../../commands.ts';
import { StartError } from '../../errors.ts';
import { SettingsReader, type Env } from '../env.ts';

/** The word that deletes data. It is long, because nothing brings the data back. */
export const DATA_WORD = 'delete-all-data';

export const UNINSTALL_HELP = `gx-platform uninstall: removes every deployment, so that the platform can be removed

Usage: node src/main.ts uninstall [options]

  --data ${DATA_WORD}   deletes the data as well: every volume of a database, those of earlier deployments among
                           them, and their credentials. Without it, all data stays
  --timeout <seconds>      how long it waits until nothing is left (default 600)

It works with the settings of the installation's operator, if that is there. Where no operator works any more, it does
the operator's work itself. Run it in a pod of its own, by config/uninstall (docs/how-to/uninstall.md).
`;

export type UninstallConfig = {
  namespace: string;
  logLevel: string;
  deletesData: boolean;
  seconds: number;
};

const OPTIONS = { data: { type: 'string' }, timeout: { type: 'string' } } as const;

/** Reads the options of `uninstall`. Throws if data is to be deleted without the word for it. */
export function readUninstallConfig(env: Env, args: string[]): UninstallConfig {
  const { data, timeout = '600' } = parseCommandOptions(args, OPTIONS, {
    name: 'uninstall',
    hint: 'See uninstall --help.',
  });
  if (data !== undefined && data !== DATA_WORD)
    throw new StartError(
      `uninstall: --data "${data}" deletes nothing. To delete all data, the word is ${DATA_WORD}.`,
    );
  const seconds = Number(timeout);
  if (!Number.isInteger(seconds) || seconds < 1)
    throw new StartError(`uninstall: --timeout "${timeout}" is not a number of seconds.`);
  const read = new SettingsReader(env);
  const config = {
    namespace: read.readText(['GX_NAMESPACE', 'POD_NAMESPACE'], 'default'),
    logLevel: read.readText(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'warn'),
    deletesData: data === DATA_WORD,
    seconds,
  };
  read.finish();
  return config;
}
