import { expect, test } from 'vitest';
import { buildDebianBill, buildNpmBill } from '../../../src/agent/sbom/bill.ts';

const names = (packages: object): string[] =>
  buildNpmBill({ packages } as never).components.map(({ name, version }) => `${name}@${version}`);

test('a bill names what stays in the image: no packages for development, no links, not the project itself', () => {
  expect(
    names({
      '': { name: 'my-agent' },
      'node_modules/a': { version: '1.0.0' },
      'node_modules/typescript': { version: '5.9.3', dev: true },
      'node_modules/both': { version: '1.0.0', devOptional: true },
      'node_modules/tools': { resolved: 'packages/tools', link: true },
      'packages/tools': { version: '0.0.1' },
    }),
  ).toEqual(['a@1.0.0', 'both@1.0.0']);
});

test('a package in two versions is there twice, in one version at two places once, an alias under its own name', () => {
  expect(
    names({
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b/node_modules/a': { version: '2.0.0' },
      'node_modules/c/node_modules/a': { version: '2.0.0' },
      'node_modules/old': { name: '@x/new', version: '3.0.0-rc.1+2' },
    }),
  ).toEqual(['a@1.0.0', 'a@2.0.0', '@x/new@3.0.0-rc.1+2']);
});

test('a component has what a scanner looks it up by', () => {
  const installed = {
    version: '1.0.0-rc.1+2',
    license: 'MIT OR Apache-2.0',
    integrity: 'sha512-AAEC sha1-/w==',
  };
  expect(buildNpmBill({ packages: { 'node_modules/@x/y': installed } })).toEqual({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    components: [
      {
        type: 'library',
        name: '@x/y',
        version: '1.0.0-rc.1+2',
        purl: 'pkg:npm/%40x/y@1.0.0-rc.1%2B2',
        licenses: [{ license: { name: 'MIT OR Apache-2.0' } }],
        hashes: [
          { alg: 'SHA-512', content: '000102' },
          { alg: 'SHA-1', content: 'ff' },
        ],
      },
    ],
  });
});

test('packages of Debian are named with their architecture', () => {
  expect(buildDebianBill('libc6 2.41-12 amd64\nlibstdc++6 14.2.0-19 amd64\n').components).toEqual([
    {
      type: 'library',
      name: 'libc6',
      version: '2.41-12',
      purl: 'pkg:deb/debian/libc6@2.41-12?arch=amd64',
    },
    {
      type: 'library',
      name: 'libstdc++6',
      version: '14.2.0-19',
      purl: 'pkg:deb/debian/libstdc%2B%2B6@14.2.0-19?arch=amd64',
    },
  ]);
});
