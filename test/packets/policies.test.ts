import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { formatRuleset } from '../../dev/cluster/native/policies/ruleset.ts';
import type { Pod } from '../../dev/cluster/native/policies/world.ts';
import { until } from '../kit/until.ts';
import { CASES as GENERAL } from './cases.ts';
import { OURS, PLATFORM_PORTS } from './our-cases.ts';
import { lab, type Host, type Lab } from './lab.ts';
import { isExpected, portsOf, worldOf, type Case, type Question } from './table.ts';

/* The rules of the policy agent, held against the table by real packets between network namespaces. */

const pod = (namespace: string, name: string, number: number, web = 80): Pod => ({
  name,
  namespace,
  labels: { pod: name },
  addresses: [`10.98.0.${number}`, `fd98::${number}`],
  ports: Object.entries({ web, ...PLATFORM_PORTS }).map(([called, port]) => ({
    name: called,
    protocol: 'TCP',
    port,
  })),
});
const PODS = [
  pod('x', 'a', 1),
  pod('x', 'b', 2),
  pod('y', 'a', 3),
  pod('y', 'b', 4, 81),
  pod('z', 'a', 5),
];
const NAMESPACES = Object.entries({ x: 'red', y: 'blue', z: 'green' }).map(([name, team]) => ({
  name,
  labels: { team },
}));
const NODE: Host = { name: 'node', addresses: ['10.97.0.1', 'fd97::1'] };
const HOSTS: Host[] = [
  ...PODS.map(({ namespace, name, addresses }) => ({
    name: `${namespace}/${name}`,
    addresses: addresses as Host['addresses'],
  })),
  { name: 'world', addresses: ['192.0.2.10', '2001:db8::10'] },
  { name: 'metadata', addresses: ['169.254.169.254', 'fd00:ec2::254'] },
];
const CASES = [...GENERAL, ...OURS];
const PORTS = [...new Set(CASES.flatMap(portsOf))];

let built: Lab;

beforeAll(async () => {
  if (process.getuid?.() !== 0)
    throw new Error('Packets between network namespaces need Linux, and root.');
  await ensureTools(['nft', 'ip', 'unshare', 'nsenter']);
  built = await lab(NODE, HOSTS, PORTS);
  const all = questionsOf({ situation: '', policies: [], expected: [] });
  await until(
    'neighbours have found each other',
    async () => (await reached(all)).length === all.length,
  );
});
afterAll(() => built?.end());

/** Returns every question that the hosts can ask each other. */
function questionsOf(one: Case): Question[] {
  const askers = HOSTS.filter(({ name }) => name !== 'metadata');
  return [NODE, ...askers].flatMap(({ name: from }) =>
    [NODE, ...HOSTS]
      .filter(({ name }) => name !== from)
      .flatMap(({ name: to }) =>
        portsOf(one).flatMap((port) =>
          (['ipv4', 'ipv6'] as const).map((family) => ({ from, to, port, family })),
        ),
      ),
  );
}

/** Asks all questions, and returns those that were answered as lines, each with the name of who answered. */
async function reached(questions: Question[]): Promise<string[]> {
  const addressOf = ({ to, family }: Question): string =>
    [NODE, ...HOSTS].find(({ name }) => name === to)?.addresses[family === 'ipv4' ? 0 : 1] ?? '';
  const asked = Map.groupBy(questions, ({ from }) => from);
  const lines = await Promise.all(
    [...asked].map(async ([from, mine]) => {
      const answers = await built.ask(
        from,
        mine.map((question) => ({ address: addressOf(question), port: question.port })),
      );
      return answers.flatMap((answer, index) =>
        answer === undefined ? [] : [lineOf({ ...(mine[index] as Question), to: answer })],
      );
    }),
  );
  return lines.flat().toSorted();
}

const lineOf = ({ from, to, port, family }: Question): string =>
  `${from} > ${to} ${port} ${family}`;

describe('the rules of network policies', () => {
  test.each(CASES)('$situation', async (one) => {
    await built.apply(formatRuleset(worldOf(one, { namespaces: NAMESPACES, pods: PODS })));
    const questions = questionsOf(one);
    const expected = questions.filter((question) => isExpected(one, question)).map(lineOf);
    const found = await reached(questions);
    const [closed, open] = [
      expected.filter((line) => !found.includes(line)),
      found.filter((line) => !expected.includes(line)),
    ];
    expect({ closed, open }).toEqual({ closed: [], open: [] });
    expect(found).not.toEqual([]);
  });
});
