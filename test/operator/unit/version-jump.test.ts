import { expect, test } from 'vitest';
import { explainUnsupportedJump } from '../../../src/operator/versions.ts';

const found = (own: string, definitions?: string, former?: string) => ({
  own,
  definitions,
  former,
});

test.each([
  ['a first installation', found('0.3.0', '0.3.0')],
  ['definitions that name no version', found('0.3.0', undefined, '0.3.0')],
  ['definitions of an older version, which are upgraded next', found('0.3.0', '0.2.4', '0.2.4')],
  ['a newer patch of the definitions', found('0.3.0', '0.3.7', '0.3.0')],
  ['the next minor version', found('0.3.0', '0.3.0', '0.2.9')],
  ['the version before, in a rollback', found('0.2.9', '0.2.9', '0.3.0')],
  ['the next major version', found('1.0.0', '1.0.0', '0.9.1')],
  ['a version before its release', found('0.3.0-rc.1', '0.3.0-rc.1', '0.2.0')],
])('%s is supported', (_, versions) => {
  expect(explainUnsupportedJump(versions)).toBeUndefined();
});

test.each([
  [
    'definitions of a newer minor version',
    found('0.2.0', '0.3.0', '0.2.0'),
    'definitions have version 0.3.0',
  ],
  [
    'definitions of a newer major version',
    found('0.9.0', '1.0.0'),
    'definitions have version 1.0.0',
  ],
  [
    'a former operator that is two minor versions older',
    found('0.3.0', '0.3.0', '0.1.5'),
    'install 0.2 first',
  ],
])('%s: the start stops with a sentence', (_, versions, words) => {
  expect(explainUnsupportedJump(versions)).toContain(words);
  expect(explainUnsupportedJump(versions)).toContain(versions.own);
});
