import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REASONS } from '../../dev/reference/meanings.ts';
import { COMMON, STATES } from '../../dev/reference/states.ts';

/** Patterns of the places where the operator's sources give a reason. */
const GIVEN = [
  /(?:waiting|stalled|underWay|ready)\('([A-Z]\w+)'/g,
  /settled\([^;]*?'([A-Z]\w+)'\)/g,
  /reason(?:: | \?\? |\s*=\s*)'([A-Z]\w+)'/g,
  /const [A-Z_]+ = '((?:Hibernated|ScaledToZero))'/g,
];

test('every reason that the operator gives has its line in the reference, and every line is of a reason that it gives', () => {
  const sources = [
    ...globSync('src/operator/**/*.ts'),
    'src/schema/platform/objects/conditions.ts',
    'src/schema/platform/objects/object-fault.ts',
    'src/schema/wire/backup-message.ts',
    'src/schema/wire/restore-message.ts',
  ]
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const given = new Set(
    GIVEN.flatMap((pattern) => [...sources.matchAll(pattern)].map(([, reason]) => reason ?? '')),
  );
  const told = new Set([
    ...Object.keys(REASONS),
    ...Object.values(STATES).flatMap(Object.keys),
    ...Object.keys(COMMON),
  ]);
  expect([...given].filter((reason) => !told.has(reason))).toEqual([]);
  // A phase becomes a reason letter by letter.
  const phases = [
    'Creating',
    'Queued',
    'AwaitingBuild',
    'Building',
    'AwaitingDeploy',
    'Deploying',
    'Unknown',
  ];
  const states = [STATES, { every: COMMON }].flatMap((kinds) =>
    Object.values(kinds).flatMap(Object.keys),
  );
  expect(
    states.filter((reason) => !sources.includes(`'${reason}'`) && !phases.includes(reason)),
  ).toEqual([]);
});
