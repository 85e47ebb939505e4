import { writeFileSync } from 'node:fs';
import { program } from '../steps.ts';
import { putAside, putBack } from './checkout-manifest.ts';
import { compile, ownManifest } from './compiled.ts';

/* npm runs it before it packs: it packs the compiled package with a package.json of its own. */

async function main(): Promise<void> {
  putBack();
  await compile();
  const manifest = ownManifest();
  putAside();
  writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
}

await program(main);
