import { writeFileSync } from 'node:fs';
import { runMain } from '../steps.ts';
import { putAside, putBack } from './checkout-manifest.ts';
import { compile, buildCompiledManifest } from './compiled.ts';

/* npm runs it before it packs: it packs the compiled package with a package.json of its own. */

async function main(): Promise<void> {
  putBack();
  await compile();
  const manifest = buildCompiledManifest();
  putAside();
  writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
}

await runMain(main);
