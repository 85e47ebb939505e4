import { runProcess } from '../../commands.ts';

/** Settings that say where packages come from, in the order of a file. */
const LENT = ['index-url', 'extra-index-url', 'trusted-host', 'proxy'] as const;

/** Returns a pip.conf with which pip elsewhere asks the same indexes as pip of this machine, if that has settings. */
export async function buildPipFile(certificates: string | undefined): Promise<string> {
  // Without pip on this machine, that of the image asks PyPI.
  const listed = await runProcess('pip3', ['config', 'list']).catch(() => '');
  const settings = parsePipSettings(listed);
  const lines = LENT.flatMap((name) =>
    settings[name] === undefined ? [] : [`${name} = ${settings[name]}`],
  );
  return [
    '[global]',
    ...(certificates === undefined ? [] : [`cert = ${certificates}`]),
    ...lines,
    '',
  ].join('\n');
}

/** Reads the lines of `pip config list`: a later one wins, as those of the environment do. */
function parsePipSettings(listed: string): Record<string, string> {
  const found = [...listed.matchAll(/^(?:global|:env:)\.([a-z-]+)=['"](.*)['"]$/gm)];
  // Several values are lines of their own there, and need an indent in a file.
  return Object.fromEntries(
    found.map(([, name = '', value = '']) => [name, value.replaceAll(String.raw`\n`, '\n  ')]),
  );
}
