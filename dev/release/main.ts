import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { UsageError } from '../errors.ts';
import { root } from '../images/list.ts';
import { runMain, printLine } from '../steps.ts';
import { release } from './release.ts';
import { requireSemanticVersion } from './versions.ts';

const HELP = `usage: node dev/release/main.ts [--version VERSION] [--key FILE] [--without IMAGE] [--into FOLDER]

Makes the folder of a release, of the commit that CHANGELOG.md names for it: images, chart, install.yaml, the package for
developers, bills of materials, changes, checksums and signatures. Nothing is published.

--version  by default the one of package.json
--key      a private key of cosign, with its password in COSIGN_PASSWORD; without one, the release is unsigned
--without  an image that this machine can't build, such as gx-buildkit; may be given again
--into     by default dist/<version>; an earlier folder is replaced
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      version: { type: 'string' },
      key: { type: 'string' },
      without: { type: 'string', multiple: true },
      into: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return printLine(HELP);
  if (positionals[0] !== undefined)
    throw new UsageError(`"${positionals[0]}" is not known.\n\n${HELP}`);
  const { version: own } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const version = requireSemanticVersion(values.version ?? own);
  const folder = resolve(values.into ?? join(root, 'dist', version));
  const { key, without = [] } = values;
  await release({
    root,
    version,
    folder,
    without,
    ...(key !== undefined && { key: resolve(key) }),
  });
}

await runMain(main);
